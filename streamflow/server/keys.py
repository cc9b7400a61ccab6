"""The keys under which an application keeps its service and what its page suggests."""

from aiohttp import web

from streamflow.server.service import Service

EXAMPLES: web.AppKey[tuple[str, ...]] = web.AppKey("streamflow_examples", tuple)
SERVICE: web.AppKey[Service] = web.AppKey("streamflow_service", Service)
