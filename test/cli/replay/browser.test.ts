// The report as a page, in a real browser: that it is whole, accessible and needs nothing from elsewhere.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { renderReport } from "../../../src/cli/replay/report/page.ts";
import { sharedBrowser } from "../../clients/browser.ts";
import { newPage, violations } from "../../console/page.ts";
import { folderWith } from "../run.ts";
import { requests, run } from "./logs.ts";

const browser = sharedBrowser();

it("is accessible and on its own: light, dark and on a phone", async () => {
  const policies = (limit: number) => [{ name: "api", limits: [{ limit, window: "1m" }] }];
  const summary = await run(requests(90), policies(40), policies(10));
  const file = join(folderWith({ "report.html": renderReport(summary) }), "report.html");
  const { page, complaints, urls } = await newPage(browser(), { colorScheme: "light" });
  onTestFinished(() => page.context().close());
  await page.goto(pathToFileURL(file).href);
  expect(await violations(page)).toEqual([]);
  const chart = page.getByRole("img", { name: "Requests over time" });
  const refused = chart.locator(".refused").last();
  expect(await refused.evaluate((path: SVGPathElement) => path.getBBox().height)).toBeGreaterThan(50);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await violations(page, "color-contrast")).toEqual([]);
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  expect(complaints).toEqual([]);
  expect([...urls]).toEqual([pathToFileURL(file).href]);
});
