"""Where each provider listens and what its endpoint can do: one row for every provider name.

``base_url`` means what it means in that vendor's own SDK: OpenAI's ends in ``/v1``, Anthropic's does not. A base that
repeats the beginning of the path (``https://api.anthropic.com/v1``) is understood all the same.
"""

import difflib
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from streamflow.errors import UsageError

ANTHROPIC_VERSION = "2023-06-01"
WATSONX_VERSION = "2025-02-06"
INTERACTIONS_REVISION = "2026-05-20"
AZURE_VERSION = "2024-10-21"  # the latest general release of the dated interface


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A row: the address, the way to authenticate, and what the endpoint is able to do.

    ``{model}`` and other names in braces are filled in when a request is built. ``key_env`` and ``base_url_env`` are
    environment variables, first match first; reading them is the client's work, this table only names them.

    >>> ENDPOINTS["anthropic"].key_env
    ('ANTHROPIC_API_KEY',)
    """

    name: str
    dialect: str
    base_url: str | None
    path: str
    stream_path: str | None = None  # where streaming has a path of its own
    key_env: tuple[str, ...] = ()
    base_url_env: tuple[str, ...] = ()
    auth: str = "bearer"  # bearer, x-api-key, api-key, x-goog-api-key, google, aws
    key_required: bool = True
    headers: dict[str, str] = {}
    places: dict[str, str] = {}  # defaults for the names in braces
    place_env: dict[str, tuple[str, ...]] = {}  # environment variables for the names in braces
    supports_streaming: bool = True
    tools: bool = True
    images: bool = True
    prefill: bool = False
    messages: bool = True  # false where there is only a prompt
    include_usage: bool = False  # ``stream_options.include_usage`` exists and is needed or harmless
    stream_type: str = "text/event-stream"  # the media type that streaming asks for
    max_tokens: str = "max_tokens"  # what the bound on the answer is called
    max_stops: int | None = None  # how many stop sequences are taken
    names: bool = False  # messages may carry the name of a participant
    reasoning: str | None = None  # the field in which thoughts go back, where they do
    call_ids: str = r".+"  # the form that the ids of calls must have
    filler: str | None = None  # said by the assistant between results and a user, where nobody else may follow them
    signed_thinking: bool = False  # thoughts are taken back only with the signature that came with them
    continue_message: dict[str, Any] = {}  # what marks a last message as the beginning of the answer
    continue_body: dict[str, Any] = {}
    address: str = "plain"  # how the address is put together: plain, vertex, azure

    def key_hint(self) -> str:
        """What to set when no key was given.

        >>> ENDPOINTS["gemini"].key_hint()
        'pass api_key, or set GEMINI_API_KEY or GOOGLE_API_KEY'
        """
        names = " or ".join(self.key_env)
        return f"pass api_key, or set {names}" if names else "pass api_key"


def _chat(name: str, base_url: str | None, env: str, path: str = "/chat/completions", **more: object) -> Endpoint:
    """A row of the chat-completions family, where most facts are the same."""
    row: dict[str, object] = {
        "dialect": "openai_chat",
        "key_env": (f"{env}_API_KEY",),
        "base_url_env": (f"{env}_BASE_URL",),
        "include_usage": True,
    }
    row.update(more)
    return msgspec.convert({"name": name, "base_url": base_url, "path": path, **row}, Endpoint)


def _openai(name: str, dialect: str, path: str, **more: object) -> Endpoint:
    return _chat(name, "https://api.openai.com/v1", "OPENAI", path, dialect=dialect, **more)


_OPENAI: dict[str, object] = {
    "max_tokens": "max_completion_tokens",
    "max_stops": 4,
    "names": True,
    "call_ids": r".{1,40}",
}
_CLAUDE_IDS = r"[a-zA-Z0-9_-]{1,64}"
# vLLM's server begins a new message unless it is told to go on with the last one.
_CONTINUES = {"continue_final_message": True, "add_generation_prompt": False}
_GOOGLE = "https://generativelanguage.googleapis.com"
_GOOGLE_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_VERTEX_PATH = "/v1beta1/projects/{project}/locations/{location}/publishers/google/models/{model}"

ENDPOINTS: dict[str, Endpoint] = {
    row.name: row
    for row in (
        _openai("openai", "openai_chat", "/chat/completions", **_OPENAI),
        _openai("openai-responses", "openai_responses", "/responses", include_usage=False),
        _openai(
            "openai-completions",
            "completions",
            "/completions",
            tools=False,
            images=False,
            prefill=True,
            messages=False,
            max_stops=4,
        ),
        _openai(
            "openai-assistants",
            "openai_assistants",
            "/threads/runs",
            headers={"openai-beta": "assistants=v2"},
            include_usage=False,
        ),
        _chat(
            "azure",
            None,
            "AZURE_OPENAI",
            "/deployments/{model}/chat/completions?api-version={api_version}",
            auth="api-key",
            base_url_env=("AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"),
            address="azure",
            **_OPENAI,
            places={"api_version": AZURE_VERSION},
            place_env={"api_version": ("OPENAI_API_VERSION",)},
        ),
        Endpoint(
            name="anthropic",
            dialect="anthropic",
            base_url="https://api.anthropic.com",
            path="/v1/messages",
            key_env=("ANTHROPIC_API_KEY",),
            base_url_env=("ANTHROPIC_BASE_URL",),
            auth="x-api-key",
            headers={"anthropic-version": ANTHROPIC_VERSION},
            call_ids=_CLAUDE_IDS,
            signed_thinking=True,
            prefill=True,
        ),
        Endpoint(
            name="gemini",
            max_stops=5,
            dialect="gemini",
            base_url=_GOOGLE,
            path="/v1beta/models/{model}:generateContent",
            stream_path="/v1beta/models/{model}:streamGenerateContent?alt=sse",
            key_env=_GOOGLE_KEYS,
            base_url_env=("GOOGLE_GEMINI_BASE_URL",),
            auth="x-goog-api-key",
            prefill=True,
        ),
        Endpoint(
            name="vertex",
            max_stops=5,
            dialect="gemini",
            base_url="https://{location}-aiplatform.googleapis.com",
            path=_VERTEX_PATH + ":generateContent",
            stream_path=_VERTEX_PATH + ":streamGenerateContent?alt=sse",
            key_env=("GOOGLE_ACCESS_TOKEN", "GOOGLE_API_KEY"),
            base_url_env=("GOOGLE_VERTEX_BASE_URL",),
            auth="google",
            address="vertex",
            place_env={"project": ("GOOGLE_CLOUD_PROJECT",), "location": ("GOOGLE_CLOUD_LOCATION",)},
            prefill=True,
        ),
        Endpoint(
            name="google-interactions",
            headers={"api-revision": INTERACTIONS_REVISION},
            dialect="google_interactions",
            base_url=_GOOGLE,
            path="/v1beta/interactions",
            key_env=_GOOGLE_KEYS,
            base_url_env=("GOOGLE_GEMINI_BASE_URL",),
            auth="x-goog-api-key",
        ),
        Endpoint(
            name="bedrock",
            dialect="bedrock",
            base_url="https://bedrock-runtime.{region}.amazonaws.com",
            path="/model/{model}/converse",
            stream_path="/model/{model}/converse-stream",
            key_env=("AWS_BEARER_TOKEN_BEDROCK",),
            base_url_env=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
            auth="aws",
            call_ids=_CLAUDE_IDS,
            signed_thinking=True,
            stream_type="application/vnd.amazon.eventstream",
            key_required=False,
            places={"region": "us-east-1"},
            place_env={"region": ("AWS_REGION", "AWS_DEFAULT_REGION")},
            prefill=True,
        ),
        _chat(
            "mistral",
            "https://api.mistral.ai",
            "MISTRAL",
            "/v1/chat/completions",
            prefill=True,
            include_usage=False,
            reasoning="parts",
            call_ids=r"[a-zA-Z0-9]{9}",
            filler="Understood.",
            continue_message={"prefix": True},
        ),
        _chat("xai", "https://api.x.ai/v1", "XAI", names=True),
        _chat(
            "deepseek",
            "https://api.deepseek.com",
            "DEEPSEEK",
            images=False,
            names=True,
            reasoning="reasoning_content",
        ),
        _chat("perplexity", "https://api.perplexity.ai", "PERPLEXITY", tools=False, include_usage=False),
        _chat("groq", "https://api.groq.com", "GROQ", "/openai/v1/chat/completions", prefill=True, names=True),
        _chat(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER",
            prefill=True,
            names=True,
            reasoning="reasoning_details",
        ),
        Endpoint(
            name="cohere",
            max_stops=5,
            dialect="cohere",
            base_url="https://api.cohere.com",
            path="/v2/chat",
            key_env=("CO_API_KEY", "COHERE_API_KEY"),
            base_url_env=("CO_API_URL",),
        ),
        Endpoint(
            name="ollama",
            stream_type="application/x-ndjson",
            dialect="ollama",
            base_url="http://127.0.0.1:11434",
            path="/api/chat",
            key_env=("OLLAMA_API_KEY",),
            base_url_env=("OLLAMA_HOST",),
            key_required=False,
            prefill=True,
        ),
        _chat("vllm", "http://localhost:8000/v1", "VLLM", key_required=False, prefill=True, continue_body=_CONTINUES),
        _chat("cerebras", "https://api.cerebras.ai", "CEREBRAS", "/v1/chat/completions", images=False),
        _chat("together", "https://api.together.xyz/v1", "TOGETHER", prefill=True),
        _chat("fireworks", "https://api.fireworks.ai", "FIREWORKS", "/inference/v1/chat/completions"),
        _chat("huggingface", "https://router.huggingface.co/v1", "HF", key_env=("HF_TOKEN",)),
        _chat("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT", reasoning="reasoning_content"),
        _chat("alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE"),
        _chat("zai", "https://api.z.ai/api/paas/v4", "ZAI", include_usage=False, reasoning="reasoning_content"),
        Endpoint(
            name="watsonx",
            dialect="watsonx",
            base_url="https://us-south.ml.cloud.ibm.com",
            path="/ml/v1/text/chat?version={version}",
            stream_path="/ml/v1/text/chat_stream?version={version}",
            key_env=("WATSONX_TOKEN",),  # an access token; a cloud API key must be exchanged for one first
            base_url_env=("WATSONX_URL",),
            places={"version": WATSONX_VERSION},
        ),
        _chat("writer", "https://api.writer.com", "WRITER", "/v1/chat"),
        _chat(
            "snowflake",
            "https://{account}.snowflakecomputing.com",
            "SNOWFLAKE",
            "/api/v2/cortex/v1/chat/completions",
            key_env=("SNOWFLAKE_PAT", "SNOWFLAKE_TOKEN"),
            place_env={"account": ("SNOWFLAKE_ACCOUNT",)},
            include_usage=False,
        ),
        # OPENAI_API_KEY is not read here on purpose: it must not travel to some other server.
        _chat("openai-compatible", None, "OPENAI_COMPATIBLE", key_required=False, prefill=True),
    )
}


def endpoint(provider: str) -> Endpoint:
    """The row of a provider, or an error that says which there are.

    >>> endpoint("openai").base_url
    'https://api.openai.com/v1'
    """
    row = ENDPOINTS.get(provider)
    if row is None:
        near = difflib.get_close_matches(str(provider).lower(), ENDPOINTS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"unknown provider {provider!r}.{hint} Known: {', '.join(ENDPOINTS)}.")
    return row


def url_of(row: Endpoint, *, model: str, base_url: str | None, stream: bool, places: dict[str, str]) -> str:
    """The address of a request; what is missing for it is named in the error.

    >>> url_of(endpoint("anthropic"), model="m", base_url="http://localhost:1/v1", stream=True, places={})
    'http://localhost:1/v1/messages'
    """
    base = base_url or row.base_url
    if base is None:
        raise UsageError(
            f"{row.name} has no address of its own: pass base_url= or set {' or '.join(row.base_url_env)}.",
            provider=row.name,
        )
    path = row.stream_path if stream and row.stream_path else row.path
    known = {**row.places, **places, "model": model}
    base, path = _ADDRESSES[row.address](base, path, known)
    return join_url(_filled(base, row, known), _filled(path, row, known))


def _plain(base: str, path: str, known: dict[str, str]) -> tuple[str, str]:
    return base, path


def _vertex(base: str, path: str, known: dict[str, str]) -> tuple[str, str]:
    # Without a project this is the express mode, which knows neither project nor location; the location "global" has
    # a host name without a region.
    if "project" not in known:
        path = path.replace("/projects/{project}/locations/{location}", "")
        known.setdefault("location", "global")
    if known.get("location") == "global":
        base = base.replace("{location}-", "")
    return base, path


def _azure(base: str, path: str, known: dict[str, str]) -> tuple[str, str]:
    parts = urlsplit(base)
    place = parts.path.rstrip("/")
    if place.endswith("/openai/v1"):  # the undated interface is that of OpenAI itself
        return base, "/chat/completions"
    if "/deployments/" in place:
        return base, path.replace("/deployments/{model}", "")
    if not place:  # AZURE_OPENAI_ENDPOINT names the resource only
        base = base.rstrip("/") + "/openai"
    return base, path


_ADDRESSES = {"plain": _plain, "vertex": _vertex, "azure": _azure}


def _filled(template: str, row: Endpoint, known: dict[str, str]) -> str:
    for name in ("project", "location", "region", "account", "api_version", "version", "model"):
        mark = "{" + name + "}"
        if mark not in template:
            continue
        if not known.get(name):
            variables = row.place_env.get(name, ())
            hint = f" or set {' or '.join(variables)}" if variables else ""
            raise UsageError(f"{row.name} needs {name}=: pass it{hint}.", provider=row.name)
        # AWS model ids hold colons and, as ARNs, slashes; Google's may be "tunedModels/x".
        template = template.replace(mark, quote(known[name], safe="" if row.dialect == "bedrock" else "/:@"))
    return template


def join_url(base: str, path: str) -> str:
    """Base and path as one address; a part that both have is written once.

    >>> join_url("https://api.groq.com/openai/v1/", "/openai/v1/chat/completions?a=1")
    'https://api.groq.com/openai/v1/chat/completions?a=1'
    """
    if "://" not in base:
        base = "http://" + base  # OLLAMA_HOST is often a bare host and port
    parts = urlsplit(base)
    path, _, query = path.partition("?")
    have = [part for part in parts.path.split("/") if part]
    want = [part for part in path.split("/") if part]
    shared = next((size for size in range(min(len(have), len(want)), 0, -1) if have[-size:] == want[:size]), 0)
    queries = "&".join(part for part in (parts.query, query) if part)
    return urlunsplit((parts.scheme, parts.netloc, "/" + "/".join(have + want[shared:]), queries, ""))
