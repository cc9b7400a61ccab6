"""What a voice should say for pieces of text as models write them: (raw, spoken) or (raw, spoken, options).

White space at the end is not compared.
"""

PLAIN = [
    ("snake_case stays, so does MAX_RETRY_COUNT.", "snake_case stays, so does MAX_RETRY_COUNT."),
    ("2*3*4 is 24, and 2 * 3 is 6.", "2*3*4 is 24, and 2 * 3 is 6."),
    ("C# and F# are languages.", "C# and F# are languages."),
    ("5 < 10 and 10 > 5.", "5 < 10 and 10 > 5."),
    ("if a<b and c>d then stop", "if a<b and c>d then stop"),
    ("A List<String> or a Map<String, Integer>.", "A List<String> or a Map<String, Integer>."),
    ("It costs $5 and $6, not $7.50.", "It costs $5 and $6, not $7.50."),
    ("#1 in the charts, tagged #winning", "#1 in the charts, tagged #winning"),
    ("AT&T, R&D; Q&A.", "AT&T, R&D; Q&A."),
    ("a ~ b, about ~5 km", "a ~ b, about ~5 km"),
    ("x | y is a union", "x | y is a union"),
    ("Wait... what?! Yes - no.", "Wait... what?! Yes - no."),
    ("array[0] and dict['key'] and [note]", "array[0] and dict['key'] and [note]"),
    ("Temperature: -5 °C, 10–20 %", "Temperature: -5 °C, 10–20 %"),
    ("I <3 you, x <= y, x << 2", "I <3 you, x <= y, x << 2"),
    ("2 + 2 = 4\n3 - 1 = 2", "2 + 2 = 4\n3 - 1 = 2"),
    ("path/to/file_name_v2.py", "path/to/file_name_v2.py"),
    ("me@example.org wrote to you_and_me@example.org", "me@example.org wrote to you_and_me@example.org"),
]

EMPHASIS = [
    ("**Frankie**! Come *here*.", "Frankie! Come here."),
    ("***Both*** and __bold__ and _slanted_.", "Both and bold and slanted."),
    ("~~Old~~ new.", "Old new."),
    ("un*frigging*believable **foo**bar", "un*frigging*believable foobar"),
    ("He said *\"no\"* and left.", 'He said "no" and left.'),
    ("**Note:** a, **b**, *c*.", "Note: a, b, c."),
    ("これは**重要**です。", "これは重要です。"),
    ("这是**重要的**，对吗？", "这是重要的，对吗？"),
    ("**「引用」**は大切", "「引用」は大切"),
    ("An *open one", "An open one"),
    ("escaped \\*stars\\* and \\_lines\\_", "escaped *stars* and _lines_"),
    ("*snake_case_name* is **two_words**", "snake_case_name is two_words"),
]

BLOCKS = [
    ("# Plan\n\nGo on.", "Plan.\n\nGo on."),
    ("## Is it done? ##\nYes.", "Is it done?\nYes."),
    ("Title\n=====\n\nText", "Title.\n\nText"),
    ("- one\n- two\n- three\n\nDone", "one.\ntwo.\nthree.\n\nDone"),
    ("* one\n  * deeper\n* two", "one.\ndeeper.\ntwo."),
    ("1. **Setup.** Install\n2. Run it!", "1. Setup. Install.\n2. Run it!"),
    ("- [ ] open\n- [x] closed", "open.\nclosed."),
    ("> A quote\n> in two lines\n\nMine", "A quote\nin two lines\n\nMine"),
    ("> [!NOTE]\n> Careful now", "NOTE.\nCareful now"),
    ("Before\n\n---\n\nAfter", "Before.\n\nAfter"),
    ("| Name | Age |\n|:--|--:|\n| Ann | 7 |\n| Bob | 8 |\n\nEnd", "Name, Age.\nAnn, 7.\nBob, 8.\n\nEnd"),
    ("Name | Age\n--- | ---\nAnn | 7\n\nEnd", "Name, Age.\nAnn, 7.\n\nEnd"),
    ("| A | B |\n|---|---|\n| 1 | 2 |\n\nEnd", "End", {"tables": "skip"}),
    ("名前:\n- 太郎\n- 花子", "名前:\n太郎。\n花子。"),
    ("See below[^1].\n\n[^1]: The note.", "See below.\n\nThe note."),
    ("A [link][a].\n\n[a]: https://example.org", "A link."),
]

CODE = [
    ("Run `make test` now.", "Run make test now."),
    ("A ``tick ` inside`` it.", "A tick ` inside it."),
    ("See:\n```python\nx = [1]\n```\nThat is it.", "See:\n\nThat is it."),
    ("See:\n```python\nx = [1]\n```\nThat is it.", "See:\ncode omitted.\nThat is it.", {"code": "say"}),
    ("See:\n```python\nx = [1]\n```\nThat is it.", "See:\n\nx = [1].\n\nThat is it.", {"code": "read"}),
    ("~~~\n```\nnot **this**\n```\n~~~\nDone", "Done"),
    ("```\nnever closed", ""),
    ("> ```\n> quoted code\n> ```\n> Text", "Text"),
    ("Use ```inline``` ticks", "Use inline ticks"),
]

LINKS = [
    ("Read [the *guide*](https://example.org/a_b) first.", "Read the guide first."),
    ("Read [the guide](https://example.org/x).", "Read the guide, https://example.org/x.", {"links": "url"}),
    ('A [title](/a "b (c)") and [p](x_(y)).', "A title and p."),
    ("![A red fox](fox.png) runs.", "A red fox runs."),
    ("[![Badge](b.svg)](https://example.org) ok", "Badge ok"),
    ("Go to https://www.example.org/path?q=1#top. Then stop.", "Go to example.org. Then stop."),
    ("Go to https://example.org/p_q. Then", "Go to https://example.org/p_q. Then", {"links": "url"}),
    ("<https://example.org/x> and <me@example.org>", "example.org and me@example.org"),
    ("Paris is the capital [1][2]. So [3, 4]!", "Paris is the capital. So!"),
    ("A fact【4:0†source】. Next.", "A fact. Next."),
    ("A fact \ue200cite\ue202turn0search1\ue201. Next.", "A fact. Next."),
    ("[[Home Page]] is a wiki link", "Home Page is a wiki link"),
]

TAGS = [
    ("<b>Bold</b> and<br>break and <i class='x'>more</i>.", "Bold and break and more."),
    ('<speak>Hi <break time="300ms"/> <prosody rate="1.05">there</prosody>.</speak>', "Hi there."),
    ('<say-as interpret-as="date">2024</say-as> and <sub alias="x">H2O</sub>', "2024 and H2O"),
    ("<p>One</p><p>Two</p>", "One. Two."),
    ("<ul><li>One</li><li>Two</li></ul>", "One. Two."),
    ("Hidden <!-- a > b --> words <script>if (a<b) {}</script>gone", "Hidden words gone"),
    ("Fish &amp; chips, 5 &lt; 6, &eacute;&nbsp;&#8364;", "Fish & chips, 5 < 6, é €"),
    ('<img src="a.png" alt="A cat"> sits', "A cat sits"),
    ("<details>\n<summary>More</summary>\nText\n</details>", "More.\nText."),
]

MATHS = [
    ("So $E = mc^2$ holds.", "So holds."),
    ("So $E = mc^2$ holds.", "So formula holds.", {"latex": "say"}),
    ("So $E = mc^2$ holds.", "So E = mc^2 holds.", {"latex": "read"}),
    ("Then\n$$\n\\int_0^1 x\n$$\nDone", "Then.\n\nDone"),
    ("Then \\(a+b\\) and \\[x^2\\] end", "Then and end"),
    ("\\begin{align}\na &= b\n\\end{align}\nOk", "Ok"),
    ("From $10 to $20 at 5% is $x^2$.", "From $10 to $20 at 5% is."),
]

EMOJI = [
    ("Great 🎉! Yes 👍🏽.", "Great! Yes."),
    ("Hi👋 there 👨‍👩‍👧 friends 🇫🇷", "Hi there friends"),
    ("Great 🎉!", "Great 🎉!", {"emoji": "say"}),
    ("✅ Done\n❌ Failed", "Done\nFailed"),
    ("Step 1️⃣ first", "Step 1 first"),
    ("© 2024 ™ → ok", "© 2024 ™ → ok"),
]

GROUPS = {
    "plain": PLAIN,
    "emphasis": EMPHASIS,
    "blocks": BLOCKS,
    "code": CODE,
    "links": LINKS,
    "tags": TAGS,
    "maths": MATHS,
    "emoji": EMOJI,
}
CASES = [(name, case[0], case[1], case[2] if len(case) > 2 else {}) for name, group in GROUPS.items() for case in group]
