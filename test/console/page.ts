// The console in a browser: what its tests do there.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import { type FakeGateway, TOKEN } from "./fake-gateway.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Opened {
  readonly page: Page;
  /** Everything that went wrong. */
  readonly complaints: string[];
  readonly urls: Set<string>;
}

export async function newPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1_440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  const urls = new Set<string>();
  page.on("console", (message) => void complaints.push(message.text()));
  page.on("pageerror", (error) => void complaints.push(String(error)));
  page.on("request", (request) => void urls.add(request.url()));
  return { page, complaints, urls };
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel("Admin token").fill(token);
  await page.keyboard.press("Enter");
  await page.getByRole("navigation").waitFor();
}

export async function show(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
}

/** Presses the buttons of these names, one after the other. */
export async function press(within: Page | Locator, ...names: readonly (string | RegExp)[]): Promise<void> {
  for (const name of names) await within.getByRole("button", { name, exact: true }).click();
}

export async function lookUp(page: Page, key: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(key);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: key }).waitFor();
}

/** What another operator does or reads, by default for the client that tests look up. */
export async function elsewhere(
  page: Page,
  gateway: FakeGateway,
  method: string,
  path: string,
  data?: object,
  key = "203.0.113.7",
  // biome-ignore lint/suspicious/noExplicitAny: each test knows what it asks for.
): Promise<any> {
  const headers = { Authorization: `Bearer ${TOKEN}`, "Headgate-Key": key };
  const init = { method, headers, ...(data && { data }) };
  const answer = await page.request.fetch(`${gateway.url}/.headgate/admin${path}`, init);
  if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${await answer.text()}`);
  return await answer.json();
}

/** Runs axe through the debugger, because the page's content security policy does not apply there. */
export async function violations(page: Page, ...rules: readonly string[]): Promise<unknown> {
  const session = await page.context().newCDPSession(page);
  const { result: has } = await session.send("Runtime.evaluate", { expression: "'axe' in window" });
  if (has.value === false) await session.send("Runtime.evaluate", { expression: AXE });
  // What passes is not described: selectors of all elements take as long as the rules.
  const options = JSON.stringify({ resultTypes: ["violations"], ...(rules.length > 0 && { runOnly: rules }) });
  const expression = `axe.run(${options}).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map((n) => n.html)]))`;
  const { result } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  await session.detach();
  return result.value;
}
