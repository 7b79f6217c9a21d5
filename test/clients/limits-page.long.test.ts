// The limits page in a real browser: what it looks like, what it requests, and that its numbers stay current.

import type { BrowserContextOptions, Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { picture } from "../console/open.ts";
import { newPage, violations } from "../console/page.ts";
import { firstOf } from "../support/cases/draws.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startTwoRegions } from "../support/gateway/limits-page.ts";
import { fivePolicies, HOSTILE_POLICIES, SECRET_POLICIES } from "../support/gateway/limits-policies.ts";
import { sharedBrowser } from "./browser.ts";

const browser = sharedBrowser();

/** Opens the page as a client with a given address. Everything that goes wrong ends up in `complaints`. */
async function openLimits(url: URL, options: BrowserContextOptions = {}) {
  const own = { extraHTTPHeaders: { "CF-Connecting-IP": "192.0.2.1" } };
  const { page, complaints, urls } = await newPage(browser(), { ...own, ...options });
  onTestFinished(() => page.context().close());
  const answer = await page.goto(new URL("/.headgate/limits", url).href);
  return { page, complaints, answer, hosts: () => [...new Set([...urls].map((one) => new URL(one).host))] };
}

const looks: [string, BrowserContextOptions][] = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 360, height: 740 } }],
];

it.each(firstOf(looks))("is whole, accessible and on its own: %s", async (name, options) => {
  const policies = fivePolicies();
  const { frankfurt } = await startTwoRegions([...policies, ...SECRET_POLICIES]);
  const { page, complaints, hosts, answer } = await openLimits(frankfurt.url, options);
  await page.locator("#left li").nth(2).waitFor();
  await picture(page, `limits-${name}`);

  expect(answer?.status()).toBe(200);
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Rate limits");
  const columns = page.getByRole("table").first().locator("thead th");
  expect(await columns.allTextContents()).toEqual(["Limit", "frankfurt", "america", "How it comes back"]);
  const text = await page.content();
  for (const policy of policies) expect(text).toContain(policy.name);
  expect(text).not.toMatch(/unsaid|only-tried|12345[78]/);
  expect(await violations(page)).toEqual([]);
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
  expect(hosts()).toEqual([frankfurt.url.host]);
  expect(complaints).toEqual([]);
});

/** The remaining units that the page shows, by limit. */
async function left(page: Page): Promise<Record<string, number>> {
  const lines = await page.locator("#left li span").allTextContents();
  return Object.fromEntries(lines.map((line) => [line.split(":")[0]!, Number(/: (\d+) of/.exec(line)?.[1])]));
}

/** The page updates every 5 s. A busy machine may be late. */
const SOON = { timeout: 30_000, interval: 200 };

it("counts down as the same client sends requests, and up again with time", async () => {
  const bucket = { algorithm: "token-bucket", limit: 1, window: "3s", burst: 8 };
  const policy = { name: uniqueName("live"), limits: [bucket, { limit: 100, window: "1h" }] };
  const [live, hourly] = [`${policy.name}-1`, `${policy.name}-2`];
  const gateway = await startGateway({ policies: [policy] });
  const { page, complaints } = await openLimits(gateway.url);
  await expect.poll(() => left(page), SOON).toEqual({ [live]: 8, [hourly]: 100 });

  await gateway.fetch("/", { address: "192.0.2.99" });
  for (let i = 0; i < 8; i++) await gateway.fetch("/");
  await expect.poll(async () => (await left(page))[hourly], SOON).toBe(92);
  const low = (await left(page))[live]!;
  expect(low).toBeLessThan(8);
  await expect.poll(async () => (await left(page))[live], SOON).toBeGreaterThan(low);
  // Looking at the page charged nothing.
  expect((await left(page))[hourly]).toBe(92);
  expect(complaints).toEqual([]);
});

const themes: [number, "light" | "dark"][] = [360, 1_440].flatMap((width) => [
  [width, "light"],
  [width, "dark"],
]);

it("says in dollars what is spent or reserved, when a month begins, and when there is more", async () => {
  const name = uniqueName("budget");
  const meter = { unit: "usd", prices: { default: { input: 0, output: 100 } } };
  const month = { algorithm: "calendar", limit: 5, window: "month", zone: "America/Los_Angeles", monthDay: 15 };
  const gateway = await startGateway({ policies: [{ name, meter, limits: [month] }] });
  const { page, complaints } = await openLimits(gateway.url, { timezoneId: "Asia/Kolkata", locale: "en-GB" });
  const [line, when] = [page.locator("#left span"), page.locator("#left small")];
  await expect.poll(() => line.innerText(), SOON).toBe(`${name}: $5 of $5 left`);
  expect(await when.innerText()).toBe("");
  expect(await page.locator("table").first().innerText()).toMatch(
    /\$5 per month[\s\S]*resets at midnight on the 15th, America\/Los_Angeles/,
  );

  /** What the page is told of the limit from now on, beside what the gateway says. */
  let told: object = {};
  await page.route(/limits\/me/, async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { readonly limits: readonly object[] };
    await route.fulfill({
      response: answer,
      json: { ...body, limits: body.limits.map((one) => ({ ...one, ...told })) },
    });
  });
  const check = async (one: object) => {
    told = one;
    await page.getByRole("button", { name: "Check" }).click();
  };
  for (const [used, text] of [
    [3.6, "$1.40 of $5 left, $3.60 spent or reserved"],
    [5, "$0 of $5 left, $5 spent or reserved"],
  ] as const) {
    await check({ used, remaining: 5 - used, growsAfterMs: 12_000, resetAfterMs: 12_000 });
    await expect.poll(() => line.innerText(), SOON).toBe(`${name}: ${text}`);
    expect(await when.innerText()).toBe("more in 12 s");
  }
  // The month may be nearly over when this test runs: the answer says another wait.
  const growsAfterMs = 20 * 86_400_000;
  const more = () => {
    const format = { dateStyle: "medium", timeStyle: "short", timeZone: "Asia/Kolkata" } as const;
    return `more on ${new Date(Date.now() + growsAfterMs).toLocaleString("en-GB", format)}`;
  };
  const before = more();
  await check({ used: 5, remaining: 0, growsAfterMs });
  await expect.poll(async () => [before, more()].includes(await when.innerText()), SOON).toBe(true);
  await check({ used: 5, remaining: 0, growsAfterMs, resetAfterMs: growsAfterMs });
  await expect.poll(() => when.innerText(), SOON).toMatch(/^resets on \d+ \w+ at \d\d:\d\d GMT\+5:30$/);
  for (const [width, colorScheme] of firstOf(themes)) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await violations(page)).toEqual([]);
    await picture(page, `limits-budget-${width}-${colorScheme}`);
  }
  expect(complaints).toEqual([]);
});

it("asks for the method and path that one types, and says when it cannot", async () => {
  const [get, post] = [
    { name: uniqueName("get"), match: { method: "GET" }, limits: [{ limit: 3, window: "1h" }] },
    { name: uniqueName("post"), match: { method: "POST", path: "/form" }, limits: [{ limit: 4, window: "1h" }] },
  ];
  const gateway = await startGateway({ policies: [get, post] });
  const { page, complaints } = await openLimits(gateway.url);
  await expect.poll(() => left(page), SOON).toEqual({ [get.name]: 3 });
  await page.getByLabel("Method").fill("POST");
  await page.getByLabel("Path").fill("/form");
  await page.getByRole("button", { name: "Check" }).press("Enter");
  await expect.poll(() => left(page), SOON).toEqual({ [post.name]: 4 });
  expect(complaints).toEqual([]);

  await page.getByLabel("Path").fill("form");
  await page.getByLabel("Path").press("Enter");
  await expect.poll(() => page.getByRole("status").textContent(), SOON).toContain("Ask for a method and a path");
});

it("is complete without JavaScript, but for what is left", async () => {
  const policies = fivePolicies();
  const gateway = await startGateway({ policies });
  const { page, complaints } = await openLimits(gateway.url, { javaScriptEnabled: false });
  expect(await page.getByRole("table").count()).toBe(2);
  expect(await page.locator("form").isVisible()).toBe(false);
  expect(await page.getByRole("status").textContent()).toContain("needs JavaScript");
  expect(await page.getByText("Add a little random time").isVisible()).toBe(true);
  expect(complaints).toEqual([]);
});

it("stays a page, whatever a configuration holds, and runs no script but its own", async () => {
  const gateway = await startGateway({ policies: HOSTILE_POLICIES });
  const { page, complaints, hosts } = await openLimits(gateway.url);
  await page.getByLabel("Path").fill("/<img src=x onerror=alert>");
  await page.getByLabel("Path").press("Enter");
  await expect.poll(() => left(page), SOON).toEqual({ "hostile-0": 1_000 });
  await picture(page, "limits-hostile");

  const found = await page.evaluate(() => ({
    elements: document.querySelectorAll("img, #injected, [onmouseover], body script:not(:last-child)").length,
    scripts: document.scripts.length,
    bodies: document.body.querySelectorAll("main table").length,
  }));
  expect(found).toEqual({ elements: 0, scripts: 1, bodies: 2 });
  const text = await page.locator("main").innerText();
  for (const { match } of HOSTILE_POLICIES) expect(text).toContain(match.path);
  expect(text).toContain(`query <b id="injected">🚦|*_`);
  expect(await violations(page)).toEqual([]);
  expect(hosts()).toEqual([gateway.url.host]);
  expect(complaints).toEqual([]);
  // No script runs but the page's own.
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.ran = true";
    document.body.append(script);
    return "ran" in window;
  });
  expect([ran, complaints.join()]).toEqual([false, expect.stringContaining("Content Security Policy")]);
});
