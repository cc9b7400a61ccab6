"""Nasty text: what a model may write to break a parser that looks at it in pieces.

Everything is made of tokens, so that a failing text can be made smaller by leaving tokens out.
"""

import random

NS = "antml" + ":"  # some models write their tags with this prefix

PLAIN = (
    *("Hello ", "a < b ", "x<y", "word", " ", "\n", "\n\n", "\r\n", "  ", "\t", "1.5 ", "Dr. ", "Yes. ", "No! ", "& "),
    *("&lt;", "List<String> ", "<b>", "</b>", "<br/>", "<details open>", "<!-- c -->", "<![CDATA[", "]]>", ">", "<"),
    *("<<", "</", "/>", '"', "'", "\\", "_", "__", "**", "{", "}", "[", "]", "[[", "]]", "$", "|"),
)
WIDE = (
    *("İ", "İİ", "ß", "ŉ", "é", "e\u0301", "👩\u200d👩\u200d👧", "🙂", "\ufeff", "\u200b", "｜", "日本。"),
    *("\u2028", "\u2029", "\u0085"),
)
CODE = (
    *("`", "``", "```", "\n```\n", "\n~~~\n", "\n   ```py\n", "\n    ", "`<thinking>`", "`</think>`"),
    "```<tool name='x'>```",
)
THINKING = (
    *("<thinking>", "</thinking>", "<think>", "</think>", f"<{NS}thinking>", f"</{NS}thinking>") * 2,
    *("<mm:think>", "</mm:think>", "[THINK]", "[/THINK]", '<thinking a="b>c">', "<thinking\n>"),
    *("</thinking >", "</thinking\n>", "<thinking/>"),
)
NEAR = (
    *("<<thinking>", "<t<thinking>", "<thin", "<thinkin", "<thinkings>", "< thinking>", "<Thinking>", "<THINK>"),
    *("</thin", "</thinkx>", "<thinking", "<thinking ", '<thinking a="', "<thinking a='x", "[THIN", "[/THIN", "<ant"),
    *(f"<{NS}", f"<{NS}thin", "<write_filename>", "<toolkit name='x'>", "<invok", "</invoke", "<function_call"),
)
CALLS = (
    *("<function_calls>", "</function_calls>", '<invoke name="f">', "<invoke id='1' name='g'>", "</invoke>") * 2,
    *('<invoke name="h"/>', '<parameter name="x">', "</parameter>", '<parameter name="thinking_budget">'),
    *("<function_results>", "<result>", "<result tool_use_id='c'>", "</result>", "<error>", "</error>"),
    *("</function_results>", f"<{NS}function_calls>", f'<{NS}invoke name="f">', f'<{NS}parameter name="x">'),
    *(f"</{NS}parameter>", f"</{NS}invoke>", f"</{NS}function_calls>"),
)
FILES = (
    *('<write_file path="/a.py">', "</write_file>", "</write_file >", "<write_file>", "</write_fi", "<run_bash>"),
    *(
        "</run_bash>",
        "<run_bash background='yes'>",
        '<edit_file path="/it\'s">',
        "</edit_file>",
        '<tool name="my_tool">',
    ),
    *('<tool name="WRITE_FILE">', "<tool name='run_bash'>", "<arguments>", '<arg name="path">', "/a>b.txt", "</arg>"),
    *('<arg name="content">', '<arg name="command">', '<arg name="patch">', "</arguments>", "</tool>", "</tool"),
    *("__START_CONTENT__\n", "\n__END_CONTENT__", "__END_CONT", "__START_PATCH__", "__END_PATCH__"),
)
SENTINELS = (
    *(
        '[[SEG_START {"type":"write_file","path":"/a]]b"}]]',
        "[[SEG_END]]",
        "[[SEG_",
        '[[SEG_START {"type":"run_bash"}]]',
    ),
    *('[[SEG_START {"type":', "[[SEG_START nonsense]]", '[[SEG_START {"type":"zzz"}]]', "[[[SEG_END]]", "[[SEG_EN"),
    *('[[SEG_START {"type":"tool","name":"f"}]]', '{"a": 1}'),
)
JSON_CALLS = (
    '{"tool": {"function": "f", "parameters": {"a": "} \\" {"}}}',
    '{"tool":',
    '{ "function" : {"name": "g", "arguments": "{\\"b\\": 2}"} }',
    '{"tool_calls": [{"function": {"name": "f", "arguments": {"s": "\\ud83d\\ude00"}}}, {"function": {"name": "g"}}]}',
    '{"name": "f", "arguments": {"x": [1, {"y": "]"}]}}',
    '{"name": "Bob", "age": 3}',
    '[{"name": "f", "args": {}}, {"name": "g", "args": {"k": "\\u00e9\\n"}}]',
    '[{"name',
    '{"a": 1}',
    '{\n\t"tool"\n:',
    '"}',
    '<tool_call>{"name": "f", "arguments": {"s": "</tool_call>"}}</tool_call>',
    "<tool_call>",
    "</tool_call>",
    '```json\n{"name": "f", "arguments": {}}\n```',
)
MARKERS = (
    *("<|eot|>", "<|eo", "<|", "|>", "\nUser:", "\nUs", "\nUser", "User:", "<|channel|>analysis<|message|>", "<|end|>"),
    *(
        "<|channel|>final<|message|>",
        "<|start|>assistant",
        "<|channel|>commentary to=functions.f <|message|>",
        "<|call|>",
    ),
    *(
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>",
        "<｜tool▁sep｜>",
        "<｜tool▁calls▁end｜>",
        "<｜DSML｜",
        "</｜DSML｜",
        "<｜",
    ),
    *("secret", "sec", "secsecret", "sk-12345678", "sk-", "4111 1111", "4111"),
)
FAMILIES = (PLAIN, WIDE, CODE, THINKING, NEAR, CALLS, FILES, SENTINELS, JSON_CALLS, MARKERS)

_WEATHER = '<invoke name="get_weather">\n<parameter name="city">Zürich</parameter>\n</invoke>\n'
_PREFIXED = f'<{NS}invoke name="f"><{NS}parameter name="x">{{"k": [1, 2]}}</{NS}parameter></{NS}invoke>'
_MARKED = "\n__START_CONTENT__\nx </arg> y\n__END_CONTENT__\n"
WELL_FORMED = (
    "<thinking>hm, <b>maybe</b></thinking>",
    f"<function_calls>\n{_WEATHER}</function_calls>",
    f"<{NS}function_calls>{_PREFIXED}</{NS}function_calls>",
    '<write_file path="/a.py">print("a < b")\n</write_file>',
    "<run_bash>ls -l | grep x</run_bash>",
    f'<tool name="write_file"><arguments><arg name="path">/b</arg><arg name="content">{_MARKED}</arg></tool>',
    '<tool name="search"><arguments><arg name="q">a <b>x</b></arg><arg name="n">3</arg></arguments></tool>',
    '[[SEG_START {"type":"write_file","path":"/a.ts"}]]body[[SEG_END]]',
    '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
    '\n```json\n{"name": "f", "arguments": {"a": 1}}\n```\n',
)


def tokens(rng: random.Random, most: int = 10) -> list[str]:
    """A few tokens: mostly from one or two families, so that structures come about; now and then a torn one."""
    favourites = rng.sample(FAMILIES, 2)
    out = []
    for _ in range(rng.randint(1, most)):
        roll = rng.random()
        if roll < 0.5:
            token = rng.choice(rng.choice(favourites))
        elif roll < 0.75:
            token = rng.choice(rng.choice(FAMILIES))
        elif roll < 0.88:
            token = rng.choice(PLAIN)
        else:
            token = rng.choice(WELL_FORMED)
        if rng.random() < 0.12:
            token = mutated(token, rng)
        out.append(token)
    return out


def mutated(token: str, rng: random.Random) -> str:
    """The token with a character lost, doubled, changed or the rest missing."""
    place = rng.randrange(len(token)) if token else 0
    return rng.choice(
        (
            token[:place] + token[place + 1 :],
            token[:place] + token[place : place + 1] * 2 + token[place + 1 :],
            token[:place] + rng.choice("<>/\"'`[]{}| \nİ") + token[place:],
            token[:place],
            token[place:],
        )
    )


def text(rng: random.Random, most: int = 10) -> str:
    """A nasty text."""
    return "".join(tokens(rng, most))
