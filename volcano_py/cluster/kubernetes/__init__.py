"""The adapter to a real API server: everything runs on one asyncio loop and is written to cost it little."""

from volcano_py.cluster.lazy_package import load_on_demand

# The logins and the election of kubernetes_asyncio are used, its 800 generated models are not: they would be most of
# what a verb of the command line loads, and a quarter of what the daemon does.
load_on_demand("kubernetes_asyncio")
load_on_demand(
    "kubernetes_asyncio.client",
    {"ApiClient": "api_client", "ApiException": "exceptions", "Configuration": "configuration"},
)
load_on_demand("kubernetes_asyncio.client.models")
# Its configuration imports this for one method, which nobody calls.
load_on_demand("urllib3", {"__version__": "_version"})
