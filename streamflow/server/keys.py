"""The key under which an application keeps its service."""

from aiohttp import web

from streamflow.server.service import Service

SERVICE: web.AppKey[Service] = web.AppKey("streamflow_service", Service)
