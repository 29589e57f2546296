"""reservation: large jobs that wait for long get a place that smaller ones do not take from them."""

from volcano_py.plugins.reservation.plugin import Reservation

__all__ = ["Reservation"]
