"""What the viewer's timeline costs in a browser: a frame on its canvas, and the same columns as SVG.

    uv run python benchmarks/view_timeline.py [--requests 10000]

A real viewer on loopback and the system's Chromium. `open` is from the address to the first rows of the window. An
interaction is measured in the page's own clock, from the key or click to the frame that shows its answer, over
requests from all over the session; beside it is the server's CPU time, which a busy machine changes little. A frame
is what the page's script measures of its own drawing, and the SVG figures are the time to build and lay out as many
columns of eight layers, as one path a layer and as one rectangle a layer and request.
"""

import argparse
import os
import shutil
import statistics
import time

from playwright.sync_api import Page, expect, sync_playwright
from view_history import made_up_log

from holdfast.cli.gateway import gateway_address
from holdfast.cli.view import admission
from holdfast.events import Recorded, Recording
from holdfast.gateway.access import AccessRules
from holdfast.gateway.serving import in_thread, open_socket
from holdfast.log import Log
from holdfast.models.catalogue import load_catalogue, model_lookup
from holdfast.packing.profile import CODE
from holdfast.store import MemoryStore
from holdfast.viewer.application import ViewerApplication
from holdfast.viewer.library import SessionLibrary

TURNS = 10
SVG = """([kind, n]) => {
  const space = 'http://www.w3.org/2000/svg', svg = document.createElementNS(space, 'svg'), times = [];
  svg.setAttribute('viewBox', '0 0 1200 300');
  document.body.append(svg);
  const add = (name, given) => {
    const node = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(given)) node.setAttribute(key, value);
    svg.append(node);
  };
  const size = (layer, at) => (layer + 1) * 3 + (at * 7919 + layer * 31) % 23;
  for (let turn = 0; turn < 10; turn++) {
    const began = performance.now(), low = new Float64Array(n), wide = 1200 / n;
    svg.replaceChildren();
    for (let layer = 0; layer < 8; layer++) {
      let path = '';
      for (let at = 0; at < n; at++) {
        const tall = size(layer, at), x = at * wide, y = 290 - low[at];
        if (kind === 'path') path += `M${x.toFixed(2)} ${y}v${-tall}h${wide.toFixed(3)}v${tall}z`;
        else add('rect', { x, y: y - tall, width: wide, height: tall });
        low[at] += tall;
      }
      if (kind === 'path') add('path', { d: path });
    }
    svg.getBoundingClientRect();
    times.push(performance.now() - began);
  }
  svg.remove();
  return times;
}"""


INTERACTIONS = {
    "scrub to the next request": "go(current.at + 1)",
    "choose any request": "go(requests - place)",
    "zoom in": "timeline.zoom(0.5)",
    "zoom out to the whole session": "timeline.zoom(Infinity)",
    "scroll the window to its end": "(one('#rows').scrollTop = 1e9, fetchPart(blocks.length - 1))",
    "read a block": "(chosen = Math.floor(blocks.length / 2), read())",
    "search in the window": "(one('#words').value = `part ${place}`, showWindow())",
    "open the money": "openPanel('money')",
    "open the memory": "openPanel('memory')",
    "compare with the request before": "openPanel('compare')",
    "compare with the first request": "(one('#compare-with').elements.with.value = 'number', "
    "one('#compare-number').value = '1', openPanel('compare'))",
}
"""What a person does, as the page's own functions; `place` is one of all `requests`."""

TIMED = """async ([places, requests]) => {
  const times = [];
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  for (const place of places) {
    one('#compare-with').reset();
    await openPanel('window'); await go(place); await drawn();
    const began = performance.now();
    await (WORK); await drawn();
    times.push(performance.now() - began);
  }
  one('#words').value = '';
  return times;
}"""


def _cpu_ms(page: Page, work: str, places: list[int], requests: int) -> tuple[list[float], float]:
    """The times of an interaction, and the CPU time of the server, which is this process, for all of them."""
    began = time.process_time()
    times: list[float] = page.evaluate(TIMED.replace("WORK", work), [places, requests])
    return times, (time.process_time() - began) * 1000


def measure_interactions(page: Page, requests: int) -> None:
    places = [round(requests * share) for share in (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)]
    print("\n| interaction | median ms | slowest ms | of the server's CPU ms |\n| --- | --- | --- | --- |")
    for name, work in INTERACTIONS.items():
        prepared = _cpu_ms(page, "null", places, requests)[1]
        times, spent = _cpu_ms(page, work, places, requests)
        own = max(spent - prepared, 0) / len(places)
        print(f"| {name} | {statistics.median(times):.0f} | {max(times):.0f} | {own:.0f} |")
    print()


def measure(page: Page, address: str, log: str, requests: int) -> None:
    began = time.perf_counter()
    page.goto(f"{address}/#/{log}")
    expect(page.locator("#rows .block").first).to_be_visible(timeout=120_000)
    opened = time.perf_counter() - began
    print(f"open {opened:.2f} s, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    measure_interactions(page, requests)
    page.locator("#timeline").focus()
    canvas, frames = page.locator("#canvas"), []
    for key in "+++++-----" * (TURNS // 5):
        drawn = int(canvas.get_attribute("data-drawn") or 0)
        page.keyboard.press(key)
        expect(canvas).not_to_have_attribute("data-drawn", str(drawn))
        frames.append(float(canvas.get_attribute("data-milliseconds") or 0))
    print(f"canvas {statistics.median(frames):.1f} ms a frame, at most {max(frames):.1f}")
    for kind in ("path", "rect"):
        print(f"svg {kind} {statistics.median(page.evaluate(SVG, [kind, requests])):.0f} ms a frame")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    given = parser.parse_args()
    store = MemoryStore()
    events = tuple(Recorded(entry.event, at=entry.at) for entry in made_up_log(given.requests, 60))
    log = Log.import_recording(store, Recording("made-up", "benchmark", events), redact=str).id
    library = SessionLibrary([store], model_lookup(load_catalogue()), lambda _name, _budget: CODE)
    listening = open_socket("127.0.0.1", 0)
    address = gateway_address("127.0.0.1", listening.getsockname()[1], "token")
    application = ViewerApplication(library, admission(AccessRules("token")))
    with in_thread(application, listening), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        measure(browser.new_page(viewport={"width": 1440, "height": 900}), address, log, given.requests)
        browser.close()
    listening.close()


if __name__ == "__main__":
    main()
