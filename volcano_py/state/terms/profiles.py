"""Profiles: which terms match the pods with one set of labels, and the numbers of these profiles."""

from __future__ import annotations

from bisect import bisect_left

Profile = tuple[int, ...]
"""Slots of terms, ascending."""


class Profiles:
    """Numbers for profiles, for as long as a set of labels has them; number 0 for the empty one stays."""

    def __init__(self) -> None:
        self.known: list[Profile] = [()]
        self._numbers: dict[Profile, int] = {(): 0}
        self._holders = [1]
        self._free: list[int] = []

    def take(self, profile: Profile) -> int:
        number = self._numbers.get(profile)
        if number is None:
            if self._free:
                number = self._free.pop()
            else:
                number = len(self.known)
                self.known.append(())
                self._holders.append(0)
            self.known[number] = profile
            self._numbers[profile] = number
        self._holders[number] += 1
        return number

    def give_back(self, number: int) -> None:
        self._holders[number] -= 1
        if self._holders[number] == 0:
            del self._numbers[self.known[number]]
            self.known[number] = ()
            self._free.append(number)


def with_term(profile: Profile, term: int) -> Profile:
    """The profile, and the term in slot `term`."""
    place = bisect_left(profile, term)
    return (*profile[:place], term, *profile[place:])


def without_term(profile: Profile, term: int) -> Profile:
    """The profile without the term in slot `term`, which it has."""
    place = bisect_left(profile, term)
    return (*profile[:place], *profile[place + 1 :])
