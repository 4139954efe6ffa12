"""The page of the server in a real browser: what one can do, with the mouse and by the
keyboard, against the weights by NumPy and the server's answers; axe-core; no code or style
that the policy forbids. EASE_SCREENSHOTS=DIR keeps pictures of it."""

import base64
import os
from urllib.parse import quote, urlencode

from browser import Browser, axe_source
from serving import Server
from small import ITEMS, Trained, as_csv, history_of
from support import ROOT, Case, main

TOKEN = "0123456789abcdef0123456789abcdef"
STRANGE = "a/b?c=ä %#&+"  # an id that addresses must escape
ODD = b"caf\xe9"  # one that is not UTF-8
NPM = os.path.join(ROOT, "examples", "npm.tsv.gz")
NAMES = "#results [data-model={}] .title"
IDLE = "document.getElementById('busy').hidden && !document.querySelector('.body.old')"


def link(history=(), **rest):
    """The part of an address behind the host."""
    return "/#" + urlencode([("h", i) for i in history] + list(rest.items()))


class Page(Case):
    """Tests with one browser for all."""

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        super().setUp()
        self.browser.set_size(1280)
        self.browser.set_scheme("light")
        self.browser.console()

    def serve(self, *args, quiet=True):
        """A server until the end of the test; `quiet`: the console must be empty then."""
        server = Server(*args, cwd=self.dir)
        self.addCleanup(server.stop)
        if quiet:
            self.addCleanup(lambda: self.assertEqual(self.browser.console(), []))
        self.server = server
        self.address = f"http://127.0.0.1:{server.port}"
        return server

    def open(self, history=(), **rest):
        self.browser.open(self.address + link(history, **rest))
        self.browser.wait("document.querySelector('#results li, #results .note')")

    def see(self, selector, texts):
        """The texts of these elements become such."""
        self.browser.wait(
            "JSON.stringify(Array.from(document.querySelectorAll(arguments[0]), "
            "(e) => e.textContent)) === JSON.stringify(arguments[1])", selector, list(texts))

    def see_list(self, items, model="main"):
        self.see(NAMES.format(model), items)

    def idle(self):
        self.browser.wait(IDLE)

    def focused(self):
        return self.browser.run(
            "const e = document.activeElement; return e.id || e.ariaLabel || e.textContent")

    def list_of(self, history, **rest):
        """Ids, as the server recommends them."""
        answer = self.server.post("/v1/recommend", {"history": list(history), **rest})
        return [i["id"] for i in answer.json["items"]]

    def type(self, text):
        self.browser.click("#search")
        self.browser.keys(text)
        self.browser.wait("document.querySelector('#found-0 .found-name')?.textContent"
                          ".toLowerCase().includes(arguments[0])", text)


class Small(Trained, Page):
    """Against the weights by NumPy."""

    @classmethod
    def setUpClass(cls):
        Page.setUpClass.__func__(cls)
        Trained.setUpClass.__func__(cls)

    def setUp(self):
        super().setUp()
        self.serve("model.ease")

    def contribution(self, source, item):
        return self.b[self.ids.index(source), self.ids.index(item)]

    def test_bars_are_the_shares_of_the_reasons(self):
        history = ["react", "express", "lodash"]
        want = self.expected(history)
        self.open(history)
        self.see_list([i for i, _ in want])
        shown = self.browser.run("""
            return Array.from(document.querySelectorAll('#results li'), (li) => {
                const zero = li.querySelector('.zero').getBoundingClientRect().left;
                return Array.from(li.querySelectorAll('.part'), (part) => {
                    const box = part.getBoundingClientRect();
                    return [part.dataset.key.slice(2), box.left - zero, box.right - zero];
                });
            });""")
        extents = [sum(max(0, sign * self.contribution(h, i)) for h in history)
                   for i, _ in want for sign in (1, -1)]
        width = self.browser.run(
            "return document.querySelector('#results .bar').getBoundingClientRect().width")
        unit = width / (max(extents[::2]) + max(extents[1::2]))  # pixels for a score of 1
        negative = 0
        for (item, _), parts in zip(want, shown):
            self.assertEqual({p[0] for p in parts},
                             {h for h in history if self.contribution(h, item)})
            for source, left, right in parts:
                share = self.contribution(source, item)
                self.assertAlmostEqual(right - left, abs(share) * unit, delta=0.1)
                if share < 0:
                    self.assertLess(right, 0.1, "it is left of zero")
                    negative += 1
                else:
                    self.assertGreater(left, -0.1, "it is right of zero")
        self.assertGreater(negative, 0, "the data have negative weights")

    def test_scores_are_those_of_numpy(self):
        self.open(["react", "redux"])
        want = self.expected(["react", "redux"])
        self.see_list([i for i, _ in want])
        for text, (_, score) in zip(self.browser.texts(".score"), want):
            shown = text.replace("score ", "").replace("\u2212", "-")
            self.assertAlmostEqual(float(shown), score, delta=0.51 * 10.0 ** -len(
                shown.partition(".")[2]))

    def test_why_not_higher_compares_with_the_item_above(self):
        history = ["react", "express"]
        (_, _), (above, high), (item, low) = self.expected(history)[:3]
        self.open(history, item=f"h={item}")
        self.browser.wait("document.querySelector('#why tfoot')")
        self.assertIn(f"Place 3, below {above}.", self.browser.text("#why p"))
        rows = self.browser.run(
            "return Array.from(document.querySelectorAll('#why tbody tr, #why tfoot tr'), "
            "(r) => Array.from(r.cells, (c) => c.textContent.replace('\u2212', '-')))")
        want = {h: (self.contribution(h, item), self.contribution(h, above)) for h in history}
        want["Score"] = (low, high)
        self.assertEqual({r[0] for r in rows}, set(want))
        for name, here, there, difference in rows:
            for text, value in zip((here, there, difference),
                                   (*want[name], want[name][0] - want[name][1])):
                self.assertAlmostEqual(float(text), value, delta=0.0011)
        differences = [float(r[3]) for r in rows[:-1]]
        self.assertEqual(differences, sorted(differences), "what is lacking most comes first")

    def test_the_first_item_has_nothing_above_and_items_of_the_history_no_place(self):
        first = self.expected(["react"])[0][0]
        self.open(["react"], item=f"h={first}")
        self.browser.wait("document.querySelector('#why tfoot')")
        self.assertIn("Nothing is above it.", self.browser.text("#why p"))
        self.browser.click("#chips .chip-name")
        self.see("#item-title", ["react"])
        self.browser.wait("document.querySelector('#why p')?.textContent"
                          ".startsWith('It is in the history')")

    def test_items_that_are_not_listed_are_compared_with_the_last(self):
        ranked = [i for i, _ in self.expected(["react"], 99)]
        self.open(["react"], k=2, item=f"h={ranked[4]}")
        self.browser.wait("document.querySelector('#why tfoot')")
        self.assertIn(f"Place 5: not among the first 2, which end with {ranked[1]}.",
                      self.browser.text("#why p"))

    def test_what_is_shown_adds_up_with_popularity_too(self):
        ranked = [i for i, _ in self.expected(["react"], 99)]
        for item in ranked[1], ranked[5]:  # the factor of one is in the list
            self.open(["react"], k=3, p="-0.7", item=f"h={item}")
            self.browser.wait("document.querySelector('#why tfoot')")
            here = [float(t.replace("\u2212", "-")) for t in
                    self.browser.texts("#why td:nth-child(2)")]
            users = len({u for u, i in self.pairs if i == item})
            want = self.contribution("react", item) * users ** -0.7
            for shown in here:
                self.assertAlmostEqual(shown, want, delta=0.02 * abs(want) + 1e-5)

    def test_ids_the_model_does_not_know_are_marked(self):
        self.open(["react", "<b>no such</b>"])
        self.see(".chip.unknown .chip-name", ["<b>no such</b> not in the model"])
        self.see_list([i for i, _ in self.expected(["react"])])
        self.open(["nothing of this"])
        self.browser.wait("document.querySelector('.note').textContent.includes('none of these')")

    def test_damaged_addresses_are_read_as_far_as_they_make_sense(self):
        for tail in ("#p=abc&k=-3&m=none&item=&h=&b=%%%&h=react", "#&&=&h=react&p=99&p=&k=1e9",
                     "#item=q%3Dx&u=&h=react"):
            self.browser.open(self.address + "/" + tail)
            self.see("#chips .chip-name", ["react"])
            self.browser.wait("document.querySelector('#results li')")
            self.assertFalse(self.browser.run("return document.getElementById('item').open"))


class OtherModels(Page):
    """Ids of all kinds, known users, and methods that can do less."""

    def train(self, name, *args):
        self.ease("train", "data.csv", "-o", name, *args)

    def setUp(self):
        super().setUp()
        self.pairs = [(f"u{n}", i) for n in range(30) for i in ITEMS[n % 3:n % 3 + 3]]
        self.write("data.csv", as_csv(self.pairs).encode() +
                   b"".join(b'u%d,"%s"\n' % (n, i) for n in range(0, 30, 2)
                            for i in (ODD, STRANGE.encode())))

    def test_ids_of_any_bytes_can_be_added_shown_and_linked(self):
        self.train("model.ease", "--lambda", 2)
        self.serve("model.ease")
        coded = base64.b64encode(ODD).decode()
        self.open()
        self.type("a/b")
        self.browser.keys("ENTER")
        self.see("#chips .chip-name", [STRANGE])
        self.see(".title", [f"bytes {coded}" if i is None else i for i in
                            [x.get("id") for x in self.server.post(
                                "/v1/recommend", {"history": [STRANGE]}).json["items"]]])
        self.browser.click(f"[data-key='b={coded}'] .add")
        self.see("#chips .chip-name", [STRANGE, f"bytes {coded}"])
        for name in STRANGE, f"bytes {coded}":
            self.browser.run("Array.from(document.querySelectorAll('#chips button'), "
                             "(b) => b).find((b) => b.textContent === arguments[0]).click()", name)
            self.see("#item-title", [name])
            self.browser.wait("document.querySelector('.similar li')")
        there = self.browser.run("return location.href")
        self.browser.open(there)
        self.see("#chips .chip-name", [STRANGE, f"bytes {coded}"])
        self.see("#item-title", [f"bytes {coded}"])

    def test_a_link_brings_titles_without_asking_for_each(self):
        rare = [f"rare{n}" for n in range(140)]  # not among those that are offered at first
        self.pairs += [(f"u{n % 30}", i) for n, i in enumerate(rare)]
        self.write("data.csv", as_csv(self.pairs))
        self.write("titles.csv", "id,title\n" + "".join(f"{i},The {i}\n" for i in rare))
        for method, history, most in (
                ("item-item", rare[-3:], 0),  # reasons have the titles
                ("item-item", rare, 1),  # an explanation has those of all
                ("cdae", rare[-3:], 3)):       # one request for each
            self.train("model.ease", "--model", method, "--titles", "titles.csv")
            self.serve("model.ease")
            self.open(history)
            self.see("#chips .chip-name", [f"The {i}" for i in history])
            asked = self.browser.run(
                "return performance.getEntriesByType('resource').map((e) => e.name)")
            self.assertEqual(sum("v1/items/" in a or "v1/explain" in a for a in asked), most)
        self.open(item=f"h={rare[99]}")
        self.see("#item-title", [f"The {rare[99]}"])

    def test_known_users_have_their_lists(self):
        self.train("model.ease", "--lambda", 2)
        self.serve("model.ease", "--users", "data.csv", quiet=False)
        self.open()
        self.browser.click("#user")
        self.browser.keys("u1", "ENTER")
        self.see("#chips .chip-name", ["user u1"])
        self.see_list([i.get("id") or f"bytes {i['id_base64']}" for i in self.server.post(
            "/v1/recommend", {"user": "u1"}).json["items"]])
        reasons = set(self.browser.texts("#results .reason-name"))
        self.assertLessEqual(reasons, set(history_of(self.pairs, "u1")))
        self.browser.click(".name")
        self.browser.wait("document.querySelector('#why table')")
        self.browser.run("document.getElementById('user').value = ''")
        self.browser.click("#user")
        self.browser.keys("nobody", "ENTER")
        self.browser.wait("document.getElementById('problem-text').textContent.includes('user')")
        self.browser.click(".chip-drop")
        self.browser.wait("document.getElementById('problem').hidden")
        self.see("#results h2", ["Most popular"])

    def test_a_method_without_reasons_is_shown_without(self):
        self.train("model.ease", "--model", "cdae")
        self.serve("model.ease")
        self.open(["react"])
        self.browser.wait("document.querySelector('.note').textContent.includes('no reasons')")
        self.see_list([i.get("id") or f"bytes {i['id_base64']}" for i in self.server.post(
            "/v1/recommend", {"history": ["react"]}).json["items"]])
        self.browser.click(".name")
        self.browser.wait("document.querySelector('#why .note')?.textContent"
                          ".includes('no reasons')")

    def test_a_method_for_known_users_only_asks_for_one(self):
        self.train("model.ease", "--model", "lrec")
        self.serve("model.ease")
        self.open()
        self.browser.wait("document.querySelector('.note').textContent.includes('enter one')")
        self.browser.click("#user")
        self.browser.keys("u1", "ENTER")
        self.browser.wait("document.querySelector('#results li')")


class Npm(Page):
    """The main paths, with the embedded example."""

    HISTORY = ("express", "react", "gulp")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.axe = axe_source()

    def setUp(self):
        super().setUp()
        self.ease("train", NPM, "-o", "npm.ease", "--lambda", 200)

    def serve_npm(self, *args, **how):
        return self.serve("npm.ease", *args, **how)

    def serve_two(self):
        self.ease("train", NPM, "-o", "other.ease", "--lambda", 5000)
        return self.serve_npm("--compare", "other.ease")

    def test_the_policy_forbids_inline_code_and_the_page_does_without(self):
        self.serve_npm()
        for name in "", "page.js", "page.css", "icon.svg":
            answer = self.server.get(f"/{name}")
            policy = answer.headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            for known in ("%s", "W/%s", '"other", %s'):
                again = self.server.get(f"/{name}", headers={
                    "If-None-Match": known % answer.headers["ETag"]})
                self.assertEqual((again.status, again.body), (304, b""))
            again = self.server.get(f"/{name}", headers={"If-None-Match": '"other"'})
            self.assertEqual((again.status, again.body), (200, answer.body))
            self.assertEqual(answer.headers["Cache-Control"], "no-cache")
        self.open(self.HISTORY, item="h=mocha")
        self.browser.wait("document.querySelector('.graph')")
        hosts = self.browser.run(
            "return performance.getEntriesByType('resource').map((e) => new URL(e.name).origin)")
        self.assertEqual(set(hosts), {self.address})
        self.browser.run("const s = document.createElement('script'); s.textContent = 'bad = 1';"
                         "document.head.append(s)")
        self.assertFalse(self.browser.run("return 'bad' in window"))
        self.assertRegex(" ".join(self.browser.console()), "Content Security Policy")

    def test_an_empty_history_offers_what_is_popular(self):
        self.serve_npm()
        popular = [i["id"] for i in self.server.get("/v1/items?k=10").json["items"]]
        self.open()
        self.see_list(popular)
        self.see("#results h2", ["Most popular"])
        self.browser.click("#start button")
        self.see("#chips .chip-name", popular[:1])
        self.see_list(self.list_of(popular[:1]))
        self.browser.click(".chip-drop")
        self.see_list(popular)
        self.browser.click("#example")
        self.browser.wait("document.querySelectorAll('#chips li').length === 3")
        self.see("#results h2", ["Recommended"])

    def test_suggestions_appear_as_one_types(self):
        self.serve_npm()
        self.open()
        self.type("gulp-s")
        want = [i["id"] for i in self.server.get("/v1/items?search=gulp-s&k=8").json["items"]]
        self.see(".found-name", want)
        self.see(".found-name mark", ["gulp-s"] * len(want))
        self.assertEqual(self.browser.run(
            "const s = document.getElementById('search'); return [s.ariaExpanded, "
            "s.getAttribute('aria-activedescendant')]"), ["true", "found-0"])
        self.browser.keys("ARROW_DOWN", "ARROW_DOWN", "ARROW_UP")
        self.assertEqual(self.browser.texts("[aria-selected=true] .found-name"), [want[1]])
        self.browser.keys("ENTER")
        self.see("#chips .chip-name", [want[1]])
        self.see_list(self.list_of([want[1]]))
        self.assertEqual(self.focused(), "search")
        self.browser.keys("gulp-s")
        self.see("#found-1 .found-count", ["in the history"])
        self.browser.keys("ESCAPE")
        self.browser.wait("document.getElementById('found').hidden")
        self.browser.keys("ESCAPE", "nothing like this")
        self.see("#none-found:not([hidden])",
                 ["No item has \u201cnothing like this\u201d in its name."])
        self.browser.keys("ESCAPE", "ESCAPE", "BACKSPACE")
        self.see("#chips .chip-name", [])

    def test_the_answer_that_is_shown_is_that_of_the_last_letter(self):
        self.serve_npm()
        self.open()
        self.browser.run("""
            const real = window.fetch;
            window.fetch = (path, how) => !String(path).startsWith('v1/items?')
                ? real(path, how)
                : new Promise((done, fail) => {  /* the shorter the text, the later */
                      const wait = 400 - 60 * new URL(path, location).searchParams.get('search')
                          .length;
                      setTimeout(() => real(path, {...how, signal: null}).then(done, fail), wait);
                  });""")
        self.browser.click("#search")
        self.browser.keys("g", "u", "l", "p", "-", "s")
        want = [i["id"] for i in self.server.get("/v1/items?search=gulp-s&k=8").json["items"]]
        self.see(".found-name", want)
        self.browser.run("return new Promise((done) => setTimeout(done, 500))")
        self.assertEqual(self.browser.texts(".found-name"), want)

    def test_the_keyboard_alone_suffices(self):
        self.serve_npm()
        self.open()
        self.browser.keys("TAB")
        self.assertEqual(self.focused(), "skip")
        self.browser.keys("ENTER")
        self.assertEqual(self.focused(), "results")
        self.browser.keys("/")
        self.assertEqual(self.focused(), "search")
        self.browser.keys("expres")
        self.browser.wait("document.querySelector('#found-0')?.textContent.startsWith('express')")
        self.browser.keys("ENTER")
        self.see_list(self.list_of(["express"]))
        self.browser.keys("TAB", "TAB", "TAB")  # a chip's two buttons, the slider
        self.assertEqual(self.focused(), "power")
        self.browser.keys("ARROW_LEFT")
        self.see("#power-value", ["\u22120.1"])
        self.see_list(self.list_of(["express"], popularity_power=-0.1))
        self.browser.keys("ARROW_RIGHT", "TAB")
        self.see_list(self.list_of(["express"]))
        first, second = self.list_of(["express"])[:2]
        self.browser.keys("TAB", "TAB")
        self.browser.keys("ENTER")
        self.see("#item-title", [second])
        self.browser.wait("document.activeElement.id === 'item-title'")
        self.browser.keys("ESCAPE")
        self.browser.wait("!document.getElementById('item').open")
        self.assertEqual(self.focused(), second)
        self.browser.keys("TAB", "ENTER")
        self.see("#chips .chip-name", ["express", second])
        third = self.list_of(["express", second])[1]
        self.see_list(self.list_of(["express", second]))
        self.assertEqual(self.focused(), f"Add {third} to the history")

    def test_dropping_a_chip_keeps_the_focus_among_the_chips(self):
        self.serve_npm()
        self.open(self.HISTORY)
        self.see_list(self.list_of(self.HISTORY))
        self.browser.run("document.querySelectorAll('.chip-drop')[1].focus()")
        for focus in "Drop gulp", "Drop express", "search":
            self.browser.keys("ENTER")
            self.browser.wait("(document.activeElement.ariaLabel || document.activeElement.id)"
                              " === arguments[0]", focus)

    def test_the_address_brings_it_back(self):
        self.serve_npm()
        self.open()
        self.type("expres")
        self.browser.keys("ENTER")
        self.see_list(self.list_of(["express"]))
        second = self.list_of(["express"])[1]
        self.browser.click("#results li:nth-child(2) .add")
        self.see_list(self.list_of(["express", second]))
        self.browser.run("const p = document.getElementById('power'); p.value = -0.5;"
                         "p.dispatchEvent(new Event('input'))")
        want = self.list_of(["express", second], popularity_power=-0.5)
        self.see_list(want)
        self.browser.click(".more")
        want = self.list_of(["express", second], popularity_power=-0.5, k=20)
        self.see_list(want)
        self.browser.click("#results li:nth-child(4) .name")
        self.see("#item-title", [want[3]])
        there = self.browser.run("return location.href")
        self.browser.open(there)
        self.see_list(want)
        self.see("#item-title", [want[3]])
        self.see("#chips .chip-name", ["express", second])
        self.see("#power-value", ["\u22120.5"])
        self.assertIn(second, self.browser.run("return document.title"))
        self.browser.click("#toggle")
        self.see("#chips .chip-name", ["express", second, want[3]])
        self.browser.driver.back()
        self.see("#chips .chip-name", ["express", second])
        self.see_list(want)
        self.browser.driver.forward()
        self.see("#chips .chip-name", ["express", second, want[3]])

    def test_details_lead_from_item_to_item(self):
        self.serve_npm()
        first = self.list_of(self.HISTORY)[0]
        similar = [i["id"] for i in
                   self.server.get(f"/v1/items/{quote(first)}/similar?k=12").json["items"]]
        self.open(self.HISTORY)
        self.see_list(self.list_of(self.HISTORY))
        self.browser.click(".name")
        self.see(".similar button", similar)
        self.assertEqual(set(self.browser.texts(".around > title")), set(similar[:8]))
        self.browser.run("document.querySelector('.around').dispatchEvent(new Event('click'))")
        self.see("#item-title", [similar[0]])
        self.browser.click(".similar li:nth-child(2) button")
        self.browser.wait("document.getElementById('item-title').textContent !== arguments[0]",
                          similar[0])
        self.browser.driver.back()
        self.see("#item-title", [similar[0]])
        self.browser.click(".close")
        self.browser.wait("!document.getElementById('item').open")

    def test_on_a_narrow_screen_details_cover_the_list(self):
        self.serve_npm()
        self.browser.set_size(390, 800)
        self.open(self.HISTORY)
        self.browser.click(".name")
        self.browser.wait("document.querySelector('dialog#item:modal .graph')")
        self.browser.keys("ESCAPE")
        self.browser.wait("!document.getElementById('item').open")
        self.browser.wait("document.activeElement.classList.contains('name')")

    def test_two_models_stand_side_by_side(self):
        self.serve_two()
        self.open(self.HISTORY)
        lists = [self.list_of(self.HISTORY, model=m) for m in ("main", "compare")]
        for model, items in zip(("main", "compare"), lists):
            self.see_list(items, model)
        self.see("#results h2", ["ease \u03bb 200", "ease \u03bb 5,000"])
        for width in 800, 1280:
            self.browser.set_size(width)
            left, right = self.browser.run("return Array.from("
                                           "document.querySelectorAll('.list ol'), "
                                           "(e) => e.getBoundingClientRect().top)")
            self.assertEqual(left, right)
        for place, item in enumerate(lists[1]):
            there = lists[0].index(item) + 1 if item in lists[0] else 0
            text = self.browser.texts("[data-model=compare] .moved")[place]
            self.assertIn("only here" if not there else "same place" if there == place + 1
                          else f"place {there} in", text)
        self.browser.click("[data-model=compare] .name")
        self.see("#item-title", lists[1][:1])
        self.see(".choice [aria-pressed=true]", ["ease \u03bb 5,000"])
        self.see(".similar button", [i["id"] for i in self.server.get(
            f"/v1/items/{quote(lists[1][0])}/similar?k=12&model=compare").json["items"]])
        self.browser.click(".choice button")
        self.see(".similar button", [i["id"] for i in self.server.get(
            f"/v1/items/{quote(lists[1][0])}/similar?k=12").json["items"]])

    def test_a_server_with_tokens_asks_for_one(self):
        self.write("tokens", TOKEN + "\n")
        os.chmod(self.path("tokens"), 0o600)
        self.serve_npm("--token-file", "tokens", quiet=False)
        self.browser.open(self.address + link(self.HISTORY))
        self.browser.wait("document.getElementById('token').open")
        self.browser.keys("wrong", "ENTER")
        self.browser.wait("document.getElementById('token').open && "
                          "document.getElementById('token-text').textContent"
                          ".includes('does not accept')")
        for scheme in "light", "dark":
            self.browser.set_scheme(scheme)
            self.look("token", scheme, 1280)
        self.browser.keys(TOKEN, "ENTER")
        self.browser.wait("document.querySelectorAll('#results li').length === 10")
        self.browser.driver.refresh()
        self.browser.wait("document.querySelectorAll('#results li').length === 10")
        self.assertNotIn(TOKEN, self.browser.run("return location.href"))
        self.browser.run("sessionStorage.clear()")

    def test_a_server_that_went_away_is_missed_and_found_again(self):
        self.serve_npm(quiet=False)
        self.open(self.HISTORY)
        self.see_list(self.list_of(self.HISTORY))
        port = self.server.port
        self.server.stop()
        self.browser.click(".chip-drop")
        self.see("#problem:not([hidden]) p", ["The server does not answer. Is it running?"])
        self.assertEqual(len(self.browser.texts("#results li")), 10)
        self.serve_npm("--listen", f"127.0.0.1:{port}", quiet=False)
        self.browser.wait("document.getElementById('problem').hidden")
        self.see_list(self.list_of(self.HISTORY[1:]))

    def test_the_facts_are_those_of_the_model(self):
        self.serve_npm()
        info = self.server.get("/v1/model").json
        self.open()
        facts = dict(zip(self.browser.texts("#facts dt"), self.browser.texts("#facts dd")))
        self.assertEqual((facts["Items"], facts["Users"], facts["Interactions"], facts["\u03bb"]),
                         (f"{info['items']:,}", f"{info['users']:,}",
                          f"{info['interactions']:,}", "200"))
        self.assertAlmostEqual(float(facts["Residual"].replace("\u2212", "-")),
                               info["residual"], delta=0.06 * info["residual"])
        self.assertEqual(len(self.browser.texts("#facts rect")), len(info["weights"]["counts"]))

    def test_items_that_count_most_have_colours(self):
        self.serve_npm()
        many = [i["id"] for i in self.server.get("/v1/items?search=gulp&k=14").json["items"]]
        self.open(many)
        self.see_list(self.list_of(many))
        influence = dict.fromkeys(many, 0)
        answer = self.server.post("/v1/recommend", {"history": many, "reasons": 50})
        for item in answer.json["items"]:
            for reason in item["reasons"]:
                influence[reason["id"]] += abs(reason["contribution"])
        most = sorted(many, key=lambda i: -influence[i])[:8]
        chips = dict(self.browser.run("return Array.from(document.querySelectorAll('.chip'), "
                                      "(c) => [c.dataset.key.slice(2), c.className])"))
        coloured = {i: name for i, name in chips.items() if "crest" not in name}
        self.assertEqual(set(coloured), set(most))
        self.assertEqual(len(set(coloured.values())), 8)

    def test_pointing_at_a_chip_shows_its_parts(self):
        self.serve_npm()
        self.open(self.HISTORY)
        self.see_list(self.list_of(self.HISTORY))
        parts = "Array.from(document.querySelectorAll('.part%s'), (p) => p.dataset.key)"
        self.browser.run("document.querySelector('.chip-drop').focus()")
        dimmed = self.browser.run("return " + parts % ".dim")
        self.assertEqual(set(dimmed), {f"h={i}" for i in self.HISTORY[1:]})
        self.assertEqual(set(self.browser.run("return " + parts % ":not(.dim)")),
                         {f"h={self.HISTORY[0]}"})
        self.browser.run("document.activeElement.blur()")
        self.assertEqual(self.browser.run("return " + parts % ".dim"), [])

    def test_details_stay_beside_a_list_that_is_scrolled(self):
        self.serve_npm()
        self.open(self.HISTORY, k=60)
        self.browser.click("#results li:nth-child(55) .name")
        self.browser.wait("document.querySelector('.graph')")
        top = self.browser.run(
            "return document.getElementById('item-title').getBoundingClientRect().top")
        self.assertTrue(0 <= top < 900, top)
        self.assertGreater(self.browser.run("return scrollY"), 1000)

    def test_changes_are_announced(self):
        self.serve_npm()
        self.open(["express"])
        first = self.list_of(["express"])[:3]
        self.see("#status", [f"10 recommendations: {', '.join(first)}"])
        self.browser.click(".add")
        then = self.list_of(["express", first[0]])[:3]
        self.see("#status", [f"{first[0]} added. 10 recommendations: {', '.join(then)}"])
        self.browser.click(".chip-drop")
        then = self.list_of(first[:1])[:3]
        self.see("#status", [f"express dropped. 10 recommendations: {', '.join(then)}"])

    def test_a_model_that_takes_its_place_shows_its_own_facts(self):
        self.serve_npm()
        self.open(["express"])
        self.see_list(self.list_of(["express"]))
        self.ease("train", NPM, "-o", "npm.ease", "--lambda", 3000)
        self.server.post("/v1/reload", {})
        self.browser.click(".add")
        self.browser.wait("document.getElementById('summary').textContent.includes('3,000')")
        self.browser.wait("document.getElementById('facts').textContent.includes('3,000')")

    def test_nothing_jumps(self):
        self.serve_npm()
        self.open(self.HISTORY)
        self.see_list(self.list_of(self.HISTORY))
        top = "document.querySelector('#results ol').getBoundingClientRect().top"
        before = self.browser.run(f"return {top}")
        self.browser.click("#results .add")
        self.browser.wait("document.querySelectorAll('#chips li').length === 4")
        self.browser.click("#results .name")
        self.browser.wait("document.querySelector('.graph')")
        self.assertEqual(self.browser.run(f"return {top}"), before)
        heights = self.browser.run("return Array.from(document.querySelectorAll('#results li'), "
                                   "(li) => li.offsetHeight)")
        self.assertEqual(len(set(heights)), 1, heights)

    # ---- every look ------------------------------------------------------------------

    LOOKS = [("empty", (), {}), ("list", HISTORY, {}),
             ("details", HISTORY, {"item": "h=babel-core", "p": "-0.2"})]

    def look(self, name, scheme, width, thorough=True):
        """Nothing is wider than the window, axe-core finds nothing if it is asked; a picture
        where wanted."""
        self.idle()
        with self.subTest(name, scheme=scheme, width=width):
            if thorough:
                self.assertEqual(self.browser.violations(self.axe), [])
            self.assertLessEqual(
                self.browser.run("return document.documentElement.scrollWidth"), width)
        if place := os.environ.get("EASE_SCREENSHOTS"):
            os.makedirs(place, exist_ok=True)
            self.browser.save(os.path.join(place, f"{name}-{scheme}-{width}.png"))

    def look_at(self, looks, prefix=""):
        for scheme in "light", "dark":
            for width in 320, 390, 800, 1280, 2200:
                self.browser.set_scheme(scheme)
                self.browser.set_size(width, 1000)
                for name, history, rest in looks:
                    self.open(history, **rest)
                    if rest:
                        self.browser.wait("document.querySelector('.graph')")
                    self.look(prefix + name, scheme, width, width in (320, 1280))

    def test_axe_finds_nothing_in_any_look(self):
        self.serve_npm()
        self.look_at(self.LOOKS)

    def test_axe_finds_nothing_with_two_models(self):
        self.serve_two()
        self.look_at(self.LOOKS[1:], "two-")

    def test_axe_finds_nothing_in_suggestions_and_problems(self):
        self.serve_npm(quiet=False)
        for scheme in "light", "dark":
            self.browser.set_scheme(scheme)
            self.open(["express", "no such item"])
            self.type("gulp")
            self.look("suggestions", scheme, 1280)
            self.browser.keys("nothing like this")
            self.browser.wait("!document.getElementById('none-found').hidden")
            self.look("none", scheme, 1280)
        self.server.stop()
        for scheme in "light", "dark":
            self.browser.set_scheme(scheme)
            self.browser.keys("g")
            self.browser.wait("!document.getElementById('problem').hidden")
            self.look("problem", scheme, 1280)

    def test_axe_would_find_something(self):
        self.serve_npm()
        self.open(self.HISTORY)
        self.browser.run("document.querySelector('.note').style.color = '#ccc';"
                         "document.querySelector('.add').removeAttribute('aria-label');"
                         "document.querySelector('.add').removeAttribute('title');"
                         "document.querySelector('.add').textContent = ''")
        found = " ".join(self.browser.violations(self.axe))
        self.assertIn("color-contrast", found)
        self.assertIn("button-name", found)


if __name__ == "__main__":
    main()
