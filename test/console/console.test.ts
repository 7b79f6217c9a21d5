// The console in a real browser, over the fake gateway: what it looks like, what it sends, and what it changes.

import type { Locator, Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import type { CountsAnswer } from "../../console/src/api.ts";
import { type Field, OVERRIDE_ENTRIES, POLICY_ENTRIES } from "../../src/features/live/fields.ts";
import { sharedBrowser } from "../clients/browser.ts";
import { sampleOf } from "../features/live/field-samples.ts";
import { firstOf } from "../support/cases/draws.ts";
import { type FakeGateway, type FakeOptions, TOKEN } from "./fake-gateway.ts";
import { gatewayOf, open, PATIENTLY, picture } from "./open.ts";
import { elsewhere, lookUp, newPage, type Opened, press, show, signIn, violations } from "./page.ts";

const CLIENT = "203.0.113.7";

/** An instant as the console shows it on another day. @param timeZone the reader's. Default: this process's. */
function onDay(ms: number, timeZone?: string): string {
  const format = (parts: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat("en-GB", { ...parts, ...(timeZone && { timeZone }) }).format(ms);
  return `${format({ day: "numeric", month: "short" })} ${format({ hour: "2-digit", minute: "2-digit" })}`;
}

const browser = sharedBrowser();

let shared: Opened | undefined;

/** The page that most tests share, with the cookie of a session: a new one for each would take a second. */
async function openSignedIn(gateway: FakeGateway): Promise<Opened> {
  shared ??= await newPage(browser());
  const { page, complaints, urls } = shared;
  await page.goto("about:blank");
  complaints.length = 0;
  urls.clear();
  const headers = { Authorization: `Bearer ${TOKEN}` };
  await page.request.post(`${gateway.url}/.headgate/admin/session`, { headers });
  await page.goto(`${gateway.url}/.headgate/console`);
  await page.getByRole("navigation").waitFor();
  return shared;
}

/** A gateway of this test, and the page of it. */
async function start(hash = "", options?: FakeOptions) {
  const gateway = await gatewayOf(options);
  const opened = await openSignedIn(gateway);
  if (hash) await show(opened.page, hash);
  return { gateway, ...opened };
}

/** Looks the client up. @returns its card. */
async function cardOf(page: Page): Promise<Locator> {
  await page.locator(".tiles").waitFor();
  await lookUp(page, CLIENT);
  return page.getByRole("region", { name: `api: ${CLIENT}` });
}

/** Answers another number of one policy's limits than the gateway would: what is left, or when it comes back. */
async function answerCounts(page: Page, policy: string, told: Partial<CountsAnswer["limits"][number]>): Promise<void> {
  await page.route(new RegExp(`admin/counts/${policy}`), async (route) => {
    const answer = await route.fetch();
    const counts = (await answer.json()) as CountsAnswer;
    await route.fulfill({
      response: answer,
      json: { ...counts, limits: counts.limits.map((one) => ({ ...one, ...told })) },
    });
  });
  onTestFinished(() => page.unrouteAll());
}

/** The page asks for counts at once when it is seen again. */
async function seeAgain(page: Page, hidden = false): Promise<void> {
  await page.evaluate((is) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
}

it("works by keyboard: looks up, goes, lists its keys, blocks a client and takes that back", async () => {
  const { gateway, page, complaints, urls } = await start();
  await page.locator(".tiles").waitFor();
  for (const [key, title] of [
    ["p", "Policies"],
    ["c", "Clients"],
    ["h", "Changes"],
    ["e", "Explain"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.getByRole("heading", { name: title, level: 1 }).waitFor();
  }
  await page.keyboard.press("?");
  expect(await page.getByRole("dialog").innerText()).toContain("look up a client");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });

  expect(await gateway.send("/v1/items", CLIENT)).toBe(200);
  await lookUp(page, CLIENT);
  const card = page.getByRole("region", { name: `api: ${CLIENT}` });
  const byKey = async (name: string | RegExp, within = card) => {
    const button = within.getByRole("button", { name, exact: typeof name === "string" });
    await button.focus();
    await page.keyboard.press("Enter");
  };
  expect(await card.getByText("of 600 left").innerText()).toBe("599 of 600 left");
  await byKey("Block");
  const focused = () => page.evaluate(() => document.activeElement?.ariaLabel || document.activeElement?.textContent);
  await expect.poll(focused, PATIENTLY).toBe(`Block: ${CLIENT}`);
  await byKey("Cancel");
  await expect.poll(focused, PATIENTLY).toBe("Reset counts");
  await byKey("Block");
  expect(await card.locator(".command code").innerText()).toBe(
    `HEADGATE_URL=${gateway.url} npm run headgate -- admin block api ${CLIENT} --kind ip --until 1h`,
  );
  await byKey(/^Block …/);
  // The question has the focus: one more key, and not by accident the same button.
  await expect.poll(focused, PATIENTLY).toBe("Yes: block");
  expect(await gateway.send("/v1/items", CLIENT)).toBe(200);
  await page.keyboard.press("Enter");
  await card.getByText("blocked").waitFor();
  expect(await gateway.send("/v1/items", CLIENT)).toBe(403);

  await page.getByRole("link", { name: "Undo …" }).focus();
  await page.keyboard.press("Enter");
  const main = page.getByRole("main");
  await byKey("Undo", main);
  await byKey("Undo", main.locator(".panel"));
  await page.getByText("undone").waitFor();
  expect(await gateway.send("/v1/items", CLIENT)).toBe(200);

  // The raw key is in no address and in no storage.
  expect([...urls].filter((url) => url.includes(CLIENT))).toEqual([]);
  expect(page.url()).not.toContain(CLIENT);
  expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  expect(complaints).toEqual([]);
});

it("says which models have answered, their tokens and what they have cost, and that nothing was counted", async () => {
  const gateway = await gatewayOf();
  gateway.change = (stats) => {
    const at = stats.points.at(-1)!.at;
    const small = Array.from({ length: 12 }, (_, i) => `small-${i}`);
    const names = ["gpt-5", "<b>bold</b>", "unnamed", "constructor", "other", ...small];
    return {
      ...stats,
      points: stats.points.filter(({ policy }) => policy !== "exports"),
      settled: names.map((model, i) => ({
        ...{ at, policy: "plan", paidFor: "plan", model },
        count: i < 5 ? 1_000_000 / 10 ** i : 7,
      })),
      tokens: names
        .filter((model) => model !== "unnamed")
        .flatMap((model) => [
          { at, policy: "plan", model, type: "input", count: 12_345 },
          { at, policy: "plan", model, type: "output", count: 678 },
        ]),
    };
  };
  const { page } = await openSignedIn(gateway);
  await show(page, "#/policies/plan");
  const rows = page.locator("table.models tbody tr");
  const cells = () => rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  await expect.poll(async () => (await cells()).length, PATIENTLY).toBe(13);
  const found = await cells();
  expect(found.slice(0, 4)).toEqual([
    ["gpt-5", "12,345", "678", "$10.00"],
    ["<b>bold</b>", "12,345", "678", "$1.00"],
    ["not named by the answer", "–", "–", "$0.10"],
    ["constructor", "12,345", "678", "$0.01"],
  ]);
  expect(found.at(-1)).toEqual(["other models", "61,725", "3,390", "$0.00128"]);
  await page.getByText("Together $11.11. Requests that still run are not in it.").waitFor();
  await show(page, "#/policies/login");
  await page.getByRole("heading", { name: "login", level: 1 }).waitFor();
  expect(await page.locator("table.models").count()).toBe(0);
  await show(page, "#/policies/exports");
  await page.getByText("No requests were counted in this time.").waitFor();
});

it("keeps what is typed, offers a whole number only, and says whom a change touches", async () => {
  const { gateway, page } = await start("#/policies/login");
  await press(page, "Change limits or mode");
  const field = page.getByLabel("login-1, per 1m");
  const asked = [];
  for (const typed of ["12.5", "-5", "1e3", "125"]) {
    await field.clear();
    await field.pressSequentially(typed);
    asked.push({
      typed: await field.inputValue(),
      invalid: await field.getAttribute("aria-invalid"),
      alerts: await page.getByRole("alert").getByText("A whole number").count(),
      sends: await page.getByRole("button", { name: "Change …" }).count(),
    });
  }
  const refused = { invalid: "true", alerts: 1, sends: 0 };
  expect(asked).toEqual([
    { typed: "12.5", ...refused },
    { typed: "-5", ...refused },
    { typed: "1e3", ...refused },
    { typed: "125", invalid: "false", alerts: 0, sends: 1 },
  ]);

  await field.fill("2");
  expect(await page.locator(".command code").innerText()).toBe(
    `HEADGATE_URL=${gateway.url} npm run headgate -- admin limits login login-1=2`,
  );
  expect(await page.locator(".touches").innerText()).toContain("Every client of login");
});

it("refuses to undo what somebody else has changed since, and to send a draft of an older document", async () => {
  const { gateway, page } = await start();
  const change = (limit: number) =>
    elsewhere(page, gateway, "PATCH", "/policies/login", { limits: { "login-1": limit } });
  await show(page, "#/changes");
  await press(page, "Edit the whole document");
  const draft = { policies: { login: { mode: "shadow" } }, overrides: [] };
  await page.getByLabel("JSON").fill(JSON.stringify(draft));
  await change(3);
  await press(page, "Replace …", "Yes: replace");
  await page.getByText("Somebody else has changed the live document since. Nothing was sent").waitFor();
  await press(page, "Cancel");

  await page.getByRole("heading", { name: "version 1" }).waitFor();
  await press(page, "Edit the whole document");
  const old = await watchFor(page, "exists by now");
  await page.getByLabel("JSON").fill(JSON.stringify(draft));
  await press(page, "Replace …", "Yes: replace");
  await page.getByRole("heading", { name: "version 2" }).waitFor();
  // Its own change makes no draft an old one, not even for a moment.
  expect(await old()).toBe(false);
  await change(4);
  await press(page, "Undo");
  await page.locator(".panel").getByRole("button", { name: "Undo" }).click();
  await page.getByText("Somebody else has changed the live document since. Nothing was undone.").waitFor();
});

it("shows refusals as they rise, a store that does not answer, and counts that grow old", async () => {
  const { gateway, page } = await start();
  const login = page.getByRole("row", { name: /^login/ });
  await login.waitFor();
  gateway.change = (stats) => ({
    ...stats,
    points: stats.points.map((one) =>
      one.policy === "login" && one.outcome === "admitted" ? { ...one, outcome: "refused" } : one,
    ),
    open: [{ place: "redis", isolates: 3 }],
    heard: new Date(Date.parse(stats.heard!) - 40_000).toISOString(),
  });
  await seeAgain(page);
  await page.getByText("The breaker is open in 3 Worker instances").waitFor();
  expect(await login.getByRole("cell").nth(1).innerText()).toMatch(/^(?:100|9\d)/);
  expect(await page.locator(".status").innerText()).toMatch(/redis ○ no answer.*last heard 4\d s ago/s);
});

it("says nothing about policies before it knows them", async () => {
  const gateway = await gatewayOf();
  const { page } = await open(browser(), gateway);
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route("**/admin/policies", async (route) => {
    await held;
    await route.continue();
  });
  await signIn(page, TOKEN);
  await page.locator(".tiles").waitFor();
  expect(await page.locator("#console").innerText()).not.toContain("deployed");
  answer();
  await page.getByRole("row", { name: /^burst-trial .* shadow: would refuse$/ }).waitFor();
});

it("asks once every 5 s while it is seen, and never while it is hidden", async () => {
  const gateway = await gatewayOf();
  const { page } = await open(browser(), gateway);
  await page.clock.install();
  await signIn(page, TOKEN);
  await page.locator(".tiles").waitFor();
  const asked = () => gateway.calls.filter((call) => call.includes("/stats")).length;
  const before = asked();
  for (let i = 0; i < 4; i++) await page.clock.runFor(5_000);
  await expect.poll(asked, PATIENTLY).toBe(before + 4);
  await seeAgain(page, true);
  await page.clock.runFor(120_000);
  expect(asked()).toBe(before + 4);
  await seeAgain(page);
  await expect.poll(asked, PATIENTLY).toBeGreaterThan(before + 4);
});

it("looks closer at a part of the chart, by dragging and from its table, and back again", async () => {
  const { page } = await start();
  const chart = page.locator(".bars").first();
  const { x, y, width, height } = (await chart.boundingBox())!;
  await page.mouse.move(x + width * 0.5, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.7, y + height / 2, { steps: 3 });
  await page.mouse.up();
  await page.getByText("in the chosen time").first().waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("last 5 min").first().waitFor();

  await page.getByText("As a table").first().click();
  expect(await page.getByText("so far").count()).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Only this" }).nth(20).click();
  await page.getByText("in the chosen time").first().waitFor();
  await press(page, "Show all", "7 d");
  await page.getByText("a bar is 2 h").waitFor();
});

it("holds the page, the range, the chosen time and the region in its address, and shows them to whoever opens it", async () => {
  const { gateway, page, complaints } = await start("#/policies/api");
  await press(page, "6 h", "na");
  await page.getByText("As a table").first().click();
  await page.getByRole("button", { name: "Only this" }).nth(20).click();
  await lookUp(page, CLIENT);
  await page.getByRole("link", { name: "Overview" }).click();
  const shown = () => page.locator(".span time").evaluateAll((all) => all.map((one) => (one as HTMLTimeElement).title));
  const times = await shown();
  expect(times).toEqual([expect.stringMatching(/^\d{4}-.* UTC$/), expect.stringMatching(/UTC$/)]);
  const address = page.url();
  expect(address).toMatch(/#\/overview\?range=360&from=[^&]+Z&to=[^&]+Z&region=na$/);
  expect(address).not.toContain(CLIENT);

  await page.goto("about:blank");
  await page.goto(address);
  await page.getByText("in the chosen time").first().waitFor();
  expect(await shown()).toEqual(times);
  expect(await page.getByRole("button", { name: "na" }).getAttribute("aria-pressed")).toBe("true");
  await press(page, "Show all", "1 h", "all regions");
  await expect.poll(() => page.url(), PATIENTLY).toBe(`${gateway.url}/.headgate/console#/overview`);
  // The time of a link is shown even if it has grown older than the range.
  const hours = (ago: number) => new Date(Date.now() - ago * 3_600_000).toISOString();
  await show(page, `#/overview?range=x&from=${hours(30)}&to=${hours(29)}`);
  await page.getByText("a bar is 1 h").waitFor();
  await press(page, "Show all");
  await expect.poll(() => page.url(), PATIENTLY).toContain("#/overview?range=10080");
  // Of a link over thousands of years, what can be known is shown.
  await show(page, "#/overview?from=0001-01-01T00:00:00Z&to=9999-12-31T00:00:00Z");
  await page.getByText("a bar is 6 h").waitFor();
  await press(page, "Show all", "1 h");
  expect(complaints).toEqual([]);
});

it("tells where the most limited clients were refused, what the origin answered, and who changed what", async () => {
  const { gateway, page } = await start();
  const limited = page.locator("table.limited");
  await limited
    .getByText(/^\/login, NL \d+/)
    .first()
    .waitFor();
  expect(await limited.getByText("other paths").count()).toBe(0);
  await page.getByText("What the origin answered").first().waitFor();
  for (const name of ["2xx, 3xx", "4xx", "5xx", "No answer"]) await page.getByText(name).first().waitFor();

  await elsewhere(page, gateway, "PATCH", "/policies/login", { mode: "shadow", limits: { "login-1": 3 } });
  await elsewhere(page, gateway, "PATCH", "/policies/login", { mode: null });
  const { override } = await elsewhere(page, gateway, "PUT", "/overrides/api?kind=ip", { factor: 2, note: "n" });
  await elsewhere(page, gateway, "DELETE", "/overrides/api?kind=ip");
  await show(page, "#/changes");
  const rows = page.getByRole("table", { name: "Who changed what: the last 4 changes" }).locator("tbody tr");
  await rows.nth(3).waitFor();
  const short = `api ${override.key.slice(0, 4)}…${override.key.slice(-3)}`;
  const cells = await rows.evaluateAll((all) =>
    all.map((row) => [...row.children].slice(1).map((one) => one.textContent)),
  );
  expect(cells).toEqual([
    ["token", "4", `headgate admin override ${short} --remove`],
    ["token", "3", `headgate admin override ${short} --factor 2`],
    ["token", "2", "headgate admin mode login default"],
    ["token", "1", "headgate admin mode login shadowheadgate admin limits login login-1=3"],
  ]);
});

it("says of an idle gateway that there were no requests, in plain words and without red", async () => {
  const { page } = await start("#/overview", { stats: "idle" });
  await page.getByText("no requests in the last 10 minutes").waitFor();
  expect(await page.locator("main, header").locator(".refused:not(svg, path), .failed, .alerts, strong").count()).toBe(
    0,
  );
  expect(await violations(page)).toEqual([]);
});

/** Types or chooses a value of a field into its form. */
async function fillIn(form: Locator, field: Field, limitLabel: RegExp): Promise<void> {
  const { words } = sampleOf(field);
  const input = form.getByLabel(field.is === "numbers" ? limitLabel : field.label);
  switch (field.is) {
    case "plan":
    case "choice":
      return void (await input.selectOption(words[0]!));
    case "instant":
      return void (await input.selectOption("24h"));
    case "flag":
      return await input.check();
    case "numbers":
      return await input.fill(words[0]!.replace(/.*=/, ""));
    default:
      return await input.fill(words[0]!);
  }
}

/** Watches whether a text appears, for however short. */
async function watchFor(page: Page, text: string): Promise<() => Promise<boolean>> {
  await page.evaluate((wanted) => {
    const seen = { was: false };
    Object.assign(window, { seen });
    new MutationObserver(() => {
      if (document.body.innerText.includes(wanted)) seen.was = true;
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  }, text);
  return () => page.evaluate(() => (window as unknown as { seen: { was: boolean } }).seen.was);
}

const overridesIn = async (page: Page, gateway: FakeGateway) =>
  (await elsewhere(page, gateway, "GET", "/overrides")).overrides;

it("does not overwrite what another operator has done for the same client, and shows it; other clients do not matter", async () => {
  const { gateway, page } = await start();
  const card = await cardOf(page);
  await press(card, "Other limits");
  await elsewhere(page, gateway, "PUT", "/overrides/api?kind=ip", { block: true, note: "a bot" });
  await press(card, "Set");
  await card.getByText("Somebody else has changed this client since. Nothing was sent").waitFor();
  await card.getByText("Nothing was changed").waitFor({ state: "detached" });
  expect(await overridesIn(page, gateway)).toMatchObject([{ block: true }]);
  // The new state is in the card and in the diff, and only now it may be replaced.
  await card.getByText("blocked").waitFor();
  await expect.poll(() => card.locator(".diff pre").innerText(), PATIENTLY).toContain('"a bot"');
  expect(await card.locator(".command code").innerText()).toContain(" --replace");

  await elsewhere(page, gateway, "PUT", "/overrides/api?kind=ip", { block: true }, "192.0.2.1");
  await press(card, "Set");
  await card.getByText("limits × 2").waitFor();
  expect(await overridesIn(page, gateway)).toMatchObject([{ factor: 2 }, { block: true }]);
});

const LOST = "The change may or may not have been made. Check before you repeat it.";
const HOLDS = "Nothing was changed.";

const LOST_ANSWERS: readonly (readonly [what: string, status: number | undefined, isDone: boolean, says: string])[] = [
  ["the answer is lost on the way", undefined, true, LOST],
  ["a proxy gives up", 504, true, LOST],
  ["the gateway does not know", 503, true, LOST],
  ["it is refused", 422, false, HOLDS],
  ["the gateway has had enough", 429, false, HOLDS],
];

it.each(firstOf(LOST_ANSWERS))("after a change says what is known: %s", async (_, status, isDone, says) => {
  const { page } = await start();
  const card = await cardOf(page);
  await press(card, "Exempt");
  await page.route("**/admin/overrides/**", async (route) => {
    if (isDone) await route.fetch();
    if (status === undefined) await route.abort("connectionreset");
    else await route.fulfill({ status, json: { title: "No" } });
  });
  onTestFinished(() => page.unrouteAll());
  await press(card, "Exempt …", "Yes: exempt");
  await card.getByText(says).waitFor();
  expect(await card.getByText(says === LOST ? HOLDS : LOST).count()).toBe(0);
  // Whatever was done, the card shows it.
  await card.getByText(isDone ? "exempt, until" : "none: the policy's own limits hold").waitFor();
});

it("says that an override is not known while the document cannot be read, never that there is none", async () => {
  const { page } = await start();
  await page.route("**/admin/live", (route) => route.fulfill({ status: 503, json: { detail: "The store is away." } }));
  onTestFinished(() => page.unrouteAll());
  await page.reload();
  const limited = page.locator("table.limited");
  await limited.getByText("not known").first().waitFor();
  expect(await limited.getByText("none").count()).toBe(0);
  await page
    .getByRole("link", { name: /^Look at .* under login/ })
    .first()
    .click();
  const card = page.getByRole("region", { name: /^login: / });
  await card.getByText("not known: the live document cannot be read").waitFor();
  expect(await card.getByText("none").count()).toBe(0);
  expect(await card.getByRole("button", { name: "Exempt" }).count()).toBe(0);
  await show(page, "#/clients");
  await page.getByText("Which clients have an override is not known.").waitFor();
  expect(await page.getByText("No client has an override").count()).toBe(0);
});

it.each(firstOf(OVERRIDE_ENTRIES))(
  "gives a client each field of an override by a form, and shows it: %s",
  async (name, field) => {
    const { gateway, page } = await start();
    const card = await cardOf(page);
    const isButton = field.is === "flag" && field.isEffect;
    const button = isButton ? field.label : field.isEffect ? "Other limits" : "Block";
    await press(card, button);
    if (!isButton) await fillIn(card, field, /^or api-2/);
    expect(await card.locator(".diff pre").innerText()).toContain(`"${name}":`);
    const command = await card.locator(".command code").innerText();
    expect(command).toContain(field.option?.split(" ")[0] ?? `admin ${name}`);
    await card.getByRole("button", { name: button === "Other limits" ? "Set" : `${button} …`, exact: true }).click();
    if (button !== "Other limits") await press(card, /^Yes: /);
    await card.getByRole("button", { name: "Remove the override" }).waitFor();

    expect(await overridesIn(page, gateway)).toEqual([expect.objectContaining({ [name]: expect.anything() })]);
    await show(page, "#/changes");
    const row = page.getByRole("row", { name: /^ip / });
    await expect.poll(() => row.innerText(), PATIENTLY).toContain(shownOf(field));
  },
);

/** What the list of overrides shows of a field's sample. */
function shownOf(field: Field): string {
  if (field.is === "flag") return field.state;
  if (field.is === "factor") return "limits × 3";
  if (field.is === "numbers") return "api-2 = 700";
  return field.is === "instant" ? "in 24 h" : sampleOf(field).words[0]!;
}

it.each(firstOf(POLICY_ENTRIES))(
  "changes each field of a policy by its form, and shows it: %s",
  async (name, field) => {
    const { page } = await start("#/policies/api");
    await press(page, "Change limits or mode");
    await fillIn(page.locator(".panel"), field, /^api-2/);
    expect(await page.locator(".diff pre").innerText()).toContain(`"${name}":`);
    expect(await page.locator(".command code").innerText()).toContain(`admin ${name} api `);
    await press(page, "Change …", "Yes: change");
    await page.getByText("Done: ").waitFor();
    await show(page, "#/changes");
    const row = page.getByRole("row", { name: /^api / });
    await expect.poll(() => row.innerText(), PATIENTLY).toContain(sampleOf(field).words[0]!.replace("=", " = "));
  },
);

it("acts on a client of whom only the hash is known, by the live document", async () => {
  const { gateway, page } = await start();
  await page
    .getByRole("link", { name: /^Look at .* under login/ })
    .first()
    .click();
  const card = page.getByRole("region", { name: /^login: / });
  await press(card, "Exempt");
  expect(await card.locator(".command code").innerText()).toMatch(
    /^HEADGATE_URL=\S+ npm run --silent headgate -- admin live get > live\.json .*\nHEADGATE_URL=\S+ npm run headgate -- admin live put live\.json$/s,
  );
  await press(card, "Exempt …", "Yes: exempt");
  await card.getByText("exempt, until").waitFor();
  // The busiest of the fake clients is this one.
  for (let i = 0; i < 8; i++) expect(await gateway.send("/login", CLIENT, { method: "POST" })).toBe(200);
});

it("shows what it can of a document that somebody has written by hand, on every page", async () => {
  const gateway = await gatewayOf();
  const key = "GOODGOODGOODGOODGOODGO";
  gateway.changeLive = (document) => {
    const unaddressed = [{}, { policy: "login" }, { policy: {}, kind: 3, key }, { policy: "login", key: 4 }];
    const wrong = [null, 7, "text", [], ...unaddressed];
    const values = { limits: { login: "x", other: null }, factor: {}, note: {}, block: true };
    const odd = { policy: "login", kind: "ip", key, ...values };
    const never = { ...odd, key: "NEVERNEVERNEVERNEVERNE", until: "never" };
    const policies = { login: null, api: { mode: 3, limits: { api: "x" } }, gone: "text" };
    const overrides = [...wrong, odd, never];
    return { ...document, version: 9, policies, overrides, ignored: [{ path: "overrides[0]" }] };
  };
  const { page, complaints } = await openSignedIn(gateway);
  for (const [hash, heading] of [
    ["#/overview", "Overview"],
    ["#/policies", "Policies"],
    ["#/policies/login", "login"],
    ["#/clients", "Clients"],
    [`#/clients/login/${key}`, key],
    ["#/changes", "Changes"],
  ] as const) {
    await show(page, hash);
    await page.getByRole("heading", { name: heading, exact: false }).first().waitFor();
  }
  const row = page.getByRole("row", { name: /GOOD/ });
  expect(await row.innerText()).toContain("blocked");
  expect(await page.getByText("1 override: clients").count()).toBe(1);
  await page.getByText("1 entries are kept").waitFor();
  await press(page, "Edit the whole document");
  expect(await page.getByLabel("JSON").inputValue()).toContain("null,");
  expect(complaints).toEqual([]);
});

it("says how much of a month is left, from which day and in which zone, and when it ends for the reader", async () => {
  const gateway = await gatewayOf();
  await gateway.send("/calls", CLIENT);
  const { page } = await open(browser(), gateway, { timezoneId: "Asia/Kolkata" });
  await signIn(page, TOKEN);
  await show(page, "#/policies");
  const text = "10,000 per month from the 15th, America/Los_Angeles";
  const row = page.getByRole("row", { name: /^calls/ }).getByText(text);
  await row.waitFor();
  await show(page, "#/policies/calls");
  await row.waitFor();
  await press(page, "Change limits or mode");
  await page.getByLabel(`calls, per month from the 15th, America/Los_Angeles`).fill("20000");
  await page.getByText("Every client of calls.").first().waitFor();

  // The month may be nearly over when this test runs: the answer says another wait.
  const resetAfterMs = 20 * 86_400_000;
  await answerCounts(page, "calls", { resetAfterMs });
  const ends = () => onDay(Date.now() + resetAfterMs, "Asia/Kolkata");
  const before = ends();
  await show(page, "#/clients");
  await lookUp(page, CLIENT);
  const card = page.getByRole("region", { name: `calls: ${CLIENT}` });
  const bar = card.locator(".limit");
  await expect.poll(() => bar.innerText(), PATIENTLY).toContain("9,999 of 10,000 left");
  expect([before, ends()].map((on) => `Full again in 20 d, on ${on}.`)).toContain(
    await bar.locator(".when").innerText(),
  );
  expect(await violations(page)).toEqual([]);
});

it("shows on the page of a policy what is left, if everybody counts as one client", async () => {
  const { page } = await start("#/policies/credits");
  const bar = page.getByRole("region", { name: "Everybody together" }).locator(".limit");
  await expect.poll(() => bar.innerText(), PATIENTLY).toContain("$1,000 of $1,000 left");
  expect(await bar.innerText()).toContain("Nothing is counted.");
  // What is counted is not known to this page before the next look.
  await answerCounts(page, "credits", { remaining: 900, resetAfterMs: 60_000 });
  await press(page, "Refresh");
  await expect.poll(() => bar.innerText(), PATIENTLY).toContain("$100 spent or reserved. Full again in 1 min.");
  expect(await bar.innerText()).toContain("$900 of $1,000 left");
  await page.unrouteAll();
  await answerCounts(page, "credits", { remaining: 0, resetAfterMs: 60_000 });
  await press(page, "Refresh");
  await expect.poll(() => bar.innerText(), PATIENTLY).toContain("$1,000 spent or reserved. Used up. Full again in 1");
  await show(page, "#/policies/team");
  await page.getByRole("heading", { name: "team", level: 1 }).waitFor();
  expect(await page.getByRole("region", { name: "Everybody together" }).count()).toBe(0);
});

const DAILY = {
  meter: { unit: "usd", prices: { default: { input: 1, output: 10 } } },
  limits: [{ algorithm: "fixed-window", limit: 5, window: "1d" }],
};

it("tells what a metered policy has spent, how fast, and when the rest will be spent at this rate", async () => {
  const meter = { ...DAILY.meter, unmetered: { cost: 1 } };
  const user = { name: "plan", key: ["header:x-user"], ...DAILY, meter };
  const gateway = await gatewayOf({ policies: [user, { name: "credits", key: "global", ...DAILY }] });
  gateway.change = (stats) => {
    const at = stats.points.at(-1)!.at;
    return { ...stats, settled: [{ at, policy: "credits", paidFor: "credits", model: "gpt-5", count: 105_000 }] };
  };
  const { page, complaints } = await openSignedIn(gateway);
  await answerCounts(page, "(credits|plan)", { remaining: 3.2, resetAfterMs: 18 * 3_600_000 });
  const bar = page.getByRole("region", { name: "Everybody together" }).locator(".limit");
  const text = async () => `${await page.locator("p.spent").innerText()} ${await bar.locator(".when").innerText()}`;
  await show(page, "#/policies/credits");
  // The counts of an hour that has nearly a minute to go are of 59 to 60 minutes.
  const says =
    /^\$1\.05 spent in the last hour, in all regions: \$1\.0\d an hour\. .* last hour, the rest will be spent in about 3 h\.$/;
  await expect.poll(text, PATIENTLY).toMatch(says);
  for (const width of [1_440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    // Charts are drawn anew when they see their width.
    const drawn = () => page.evaluate(() => document.documentElement.scrollWidth);
    await expect.poll(drawn, PATIENTLY).toBeLessThanOrEqual(width);
    await picture(page, `spent-${width}`);
  }
  expect(await violations(page)).toEqual([]);
  await show(page, "#/policies/plan");
  await expect
    .poll(() => page.locator("p.spent").innerText(), PATIENTLY)
    .toMatch(/^\$0 spent in the last hour, .* What requests cost that nobody can meter is not in it\.$/);
  await show(page, "#/clients");
  await page.getByLabel("Kind of key").selectOption("header:x-user");
  await page.locator("main form input").fill("ann");
  await page.getByRole("button", { name: "Look up" }).click();
  const when = page.getByRole("region", { name: "plan: ann" }).locator(".when");
  expect(await when.innerText()).toBe(
    "$1.80 spent or reserved. Full again in 18 h. At the rate since its window began, 6 h ago, the rest will be spent in about 11 h.",
  );
  for (const width of [1_440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await picture(page, `spent-client-${width}`);
  }
  await page.setViewportSize({ width: 1_440, height: 900 });
  expect(complaints).toEqual([]);
});

it("explains a token, says what is wrong with another one, and takes a whole header line", async () => {
  const { page } = await start("#/explain");
  const field = page.locator("main textarea");
  await field.fill("Headgate-Explain: token-of-a-month");
  // 21 days after the refusal it is midnight of December 15 in Los Angeles.
  const sentence = () => page.locator(".sentence").innerText();
  await expect
    .poll(sentence, PATIENTLY)
    .toContain("of 10,000 per month from the 15th, America/Los_Angeles, 0 were left for");
  expect(await sentence()).toContain(`It would have passed 21 d later, on ${onDay(Date.UTC(2026, 11, 15, 8))}.`);
  await field.fill("token-of-a-chain");
  await page.getByText("It called tools/call search, something unreadable.").waitFor();
  expect(await page.locator("main").innerText()).toContain("enforce, pays after plan");
  await field.fill("token-of-a-block");
  await expect
    .poll(() => page.locator(".sentence").innerText(), PATIENTLY)
    .toContain("was blocked by the live document, under api, for 20 min more");
  await field.fill("token-without-space");
  await page.getByText("for lack of space: 9 limits, 1 policy").waitFor();
  expect(await page.locator(".sentence").innerText()).toContain("refused by api-2. Its numbers did not fit");
  await field.fill("altered");
  await page.getByText("The token is altered").waitFor();
});

it("says so: a wrong token, a session that has ended, a gateway that is gone", async () => {
  const gateway = await gatewayOf();
  const { page } = await open(browser(), gateway);
  await page.getByLabel("Admin token").fill("not-the-token-of-this-gateway-at-all");
  await page.keyboard.press("Enter");
  await page.getByText("The gateway does not accept this token.").waitFor();
  await signIn(page, TOKEN);
  await page.locator(".tiles").waitFor();
  await page.context().clearCookies();
  await show(page, "#/changes");
  await page.getByText("Your session has ended. Sign in again.").waitFor();
  await signIn(page, TOKEN);
  await gateway.stop();
  await show(page, "#/overview");
  await seeAgain(page);
  await page.getByText("no answer: numbers stand still").waitFor();
});

it.each<[string, FakeOptions, string, string]>([
  ["nothing was counted yet", { stats: "none" }, "#/overview", "curl -i"],
  ["no STATS is bound", { stats: "off" }, "#/overview", "HeadgateStats"],
  ["no live document is read", { live: false }, "#/changes", "This gateway reads no live document"],
  ["no live document is read", { live: false }, "#/policies/api", "Nothing can be changed while the gateway runs"],
])("says what to do if %s", async (_what, options, hash, text) => {
  const { page } = await start(hash, options);
  await page.getByText(text).first().waitFor();
  expect(await violations(page)).toEqual([]);
});

it("goes to the address that is opened before the browser draws the first frame", async () => {
  const gateway = await gatewayOf();
  const { page } = await newPage(browser());
  onTestFinished(() => page.context().close());
  // As on a busy machine: what Preact runs after a frame runs late.
  await page.addInitScript(() => {
    const later = setTimeout;
    const late = (run: TimerHandler, ms = 0, ...more: unknown[]) => later(run, ms + 500, ...more);
    Object.assign(window, { requestAnimationFrame: late, setTimeout: late });
  });
  await page.goto(`${gateway.url}/.headgate/console`);
  await signIn(page, TOKEN);
  await show(page, "#/explain");
  await page.locator("main textarea").waitFor();
});
