// The console at every width and range, light and dark: what takes minutes of drawing and of axe. console.test.ts has
// everything else.

import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { sharedBrowser } from "../clients/browser.ts";
import { TOKEN } from "./fake-gateway.ts";
import { gatewayOf, open, PATIENTLY, picture } from "./open.ts";
import { lookUp, press, show, signIn, violations } from "./page.ts";

const CLIENT = "203.0.113.7";

const browser = sharedBrowser();

/** What each page shows when it is whole. */
const PAGES: readonly (readonly [name: string, hash: string, shown: string, act?: (page: Page) => Promise<void>])[] = [
  ["overview", "#/overview", "table.limited tbody tr", (page) => page.locator("summary").first().click()],
  ["policies", "#/policies", "tbody tr"],
  [
    "policy",
    "#/policies/api",
    ".bars",
    async (page) => {
      await press(page, "Change limits or mode");
      await page.getByLabel("api-2, per 1m").fill("900");
    },
  ],
  ["plan", "#/policies/plan", "table.models tbody tr"],
  ["credits", "#/policies/credits", ".card .limit"],
  [
    "clients",
    "#/clients",
    "form.fields",
    async (page) => {
      await lookUp(page, CLIENT);
      await page.locator(".card").first().getByRole("button", { name: "Block" }).click();
    },
  ],
  ["changes", "#/changes", "h2", (page) => page.getByRole("button", { name: "Edit the whole document" }).click()],
  ["explain", "#/explain", "textarea", (page) => page.locator("main textarea").fill("token-of-a-refusal")],
];

it.each([1_440, 360])("is whole and accessible, light and dark, at %d pixels", async (width) => {
  const gateway = await gatewayOf();
  for (let i = 0; i < 8; i++) await gateway.send("/login", CLIENT, { method: "POST" });
  const { page, complaints, urls } = await open(browser(), gateway, {
    viewport: { width, height: 800 },
    timezoneId: "Asia/Kolkata",
  });
  expect(await violations(page)).toEqual([]);
  await picture(page, `console-sign-in-${width}`);
  await signIn(page, TOKEN);

  for (const [name, hash, shown, act] of PAGES) {
    await show(page, hash);
    await page.locator(shown).first().waitFor();
    await act?.(page);
    if (name === "explain") await page.getByRole("article").waitFor();
    expect(await violations(page), name).toEqual([]);
    await picture(page, `console-${name}-${width}-light`);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await violations(page, "color-contrast"), `${name}, dark`).toEqual([]);
    await picture(page, `console-${name}-${width}-dark`);
    await page.emulateMedia({ colorScheme: "light" });
    expect(await page.evaluate(() => document.documentElement.scrollWidth), name).toBeLessThanOrEqual(width);
    if (width < 500) expect(await page.evaluate(smallTargets), name).toEqual([]);
  }
  expect(new Set([...urls].map((one) => new URL(one).origin))).toEqual(new Set([gateway.url]));
  expect(complaints).toEqual([]);
});

const RANGES = [
  ["1 h", "1 min", /^\d\d:\d[05]$/],
  ["6 h", "5 min", /^\d\d:[03]0$/],
  ["24 h", "15 min", /^\d\d:00$/],
  ["7 d", "2 h", /^\d\d:00$/],
  ["30 d", "6 h", /^\d+ \w+$/],
] as const;

const WIDTHS = [1_440, 700, 360];

it("writes round times of the reader's zone under a chart of 1440, 700 and 360 pixels", async () => {
  const gateway = await gatewayOf();
  // Whole hours of this zone are no whole hours of UTC.
  const { page } = await open(browser(), gateway, {
    viewport: { width: 1_440, height: 800 },
    timezoneId: "Asia/Kolkata",
  });
  await signIn(page, TOKEN);
  for (const [r, [range, step, round]] of RANGES.entries()) {
    // Each time another width is the first: a day of counts is 9 MB, and is asked for once.
    const widths = WIDTHS.map((_, i) => WIDTHS[(r + i) % WIDTHS.length]!);
    for (const [i, width] of widths.entries()) {
      const name = `${range} at ${width}`;
      await page.setViewportSize({ width, height: 800 });
      if (i === 0) await press(page, range);
      await page.getByText(`a bar is ${step}`).waitFor();
      await expect.poll(() => page.evaluate(isFitted), PATIENTLY).toBe(true);
      const labels = await page.evaluate(timeLabels);
      expect(labels.length, name).toBeGreaterThanOrEqual(2);
      for (const { text } of labels) expect(/\d [A-Z]/.test(text) || round.test(text), `${name}: ${text}`).toBe(true);
      for (const [l, { left }] of labels.entries()) {
        expect(left, `${name}: ${l}`).toBeGreaterThan((labels[l - 1]?.right ?? 0) + 3);
      }
      await picture(page, `console-range-${range.replace(" ", "")}-${width}`);
    }
  }
});

/** This function runs inside the page: whether the first chart is as wide as its place by now. */
function isFitted(): boolean {
  const bars = document.querySelector(".bars")!;
  return Number(bars.getAttribute("width")) === bars.closest(".plot")!.clientWidth;
}

/** This function runs inside the page: the labels below the first chart, from left to right. */
function timeLabels(): { text: string; left: number; right: number }[] {
  return [...document.querySelector(".bars")!.querySelectorAll("text.when")].map((label) => {
    const { left, right } = label.getBoundingClientRect();
    return { text: label.textContent, left, right };
  });
}

/** This function runs inside the page: what a thumb does not hit. */
function smallTargets(): string[] {
  const targets = [...document.querySelectorAll("button, nav a, .button, input, select, textarea, summary")];
  return targets
    .map((target) => [target, target.getBoundingClientRect()] as const)
    .filter(([, { height, width }]) => width > 1 && (height < 43.5 || width < 43.5))
    .map(([target, { height, width }]) => `${target.outerHTML.slice(0, 80)} ${width} × ${height}`);
}

it("is as wide as a phone, whatever long words it shows", async () => {
  const gateway = await gatewayOf();
  const long = "a_very_long_word_".repeat(20);
  gateway.change = (stats) => ({
    ...stats,
    points: [...stats.points, { ...stats.points.at(-1)!, policy: long, region: long, source: long }],
    top: { ...stats.top, [long]: [{ key: long, refused: 9, where: [{ route: long, country: "DE", refused: 9 }] }] },
  });
  gateway.changeLive = (document) => ({
    ...document,
    policies: { [long]: { mode: "shadow", limits: { [long]: 3 } } },
    overrides: [{ policy: long, kind: long, key: "GOODGOODGOODGOODGOODGO", plan: long, note: long }],
    notes: [long],
    ignored: [{ path: long, reason: long }],
  });
  const { page } = await open(browser(), gateway, { viewport: { width: 360, height: 800 } });
  await signIn(page, TOKEN);
  await page.locator(".tiles").waitFor();
  const width = () => page.evaluate(() => document.documentElement.scrollWidth);
  for (const hash of ["#/overview", "#/policies", `#/policies/${long}`, "#/clients", "#/changes", "#/explain"]) {
    await show(page, hash);
    await page.locator("main h1, main h2").first().waitFor();
    expect([hash, await width()]).toEqual([hash, 360]);
  }
  await page.getByRole("button", { name: "Edit the whole document" }).waitFor({ state: "detached" });
  await show(page, "#/clients");
  await page.getByLabel("Kind of key").selectOption("bearer");
  await page.getByLabel("Raw key (bearer)").fill(long);
  await press(page, "Look up");
  const card = page.getByRole("region", { name: `api: ${long}` });
  await press(card, "Block");
  await card.getByLabel("Why (a note, stored)").fill(long);
  await press(card, "Block …");
  expect(["the question", await width()]).toEqual(["the question", 360]);
  await press(card, "Yes: block");
  await page.getByText("Done: Block").waitFor();
  expect(["the last change", await width()]).toEqual(["the last change", 360]);
  await card.getByText("blocked").waitFor();
  expect(["the card", await width()]).toEqual(["the card", 360]);
});
