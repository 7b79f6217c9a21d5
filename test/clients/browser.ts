// A headless Chromium with one page. A separate server serves the page, so the gateway sees a page of another origin.

import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeEach, inject, onTestFinished, type TestContext } from "vitest";
import { CHROMIUM_ARGUMENTS, HOW_TO_GET_CHROMIUM } from "../../scripts/machine/chromium.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of a Chromium, or null without one. Only the project `browser` has it. */
    chromium: string | null;
  }
}

/** The arguments of `fetch` that can be passed to the page. */
export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** An answer as the page could read it: only the header fields that CORS let it see. */
export interface Read {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export interface OpenPage {
  readonly page: Page;
  /** What the page wrote to the console, or threw. */
  readonly complaints: readonly string[];
  /** `fetch` inside the page. Rejects if the page may not read the answer. */
  read(url: URL, asked?: Asked): Promise<Read>;
}

/** The browser of all tests around the call. It starts with the first of them. @returns what gives it to a test. */
export function sharedBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeEach(async (context) => {
    browser ??= await launchChromium(context);
  });
  afterAll(() => browser?.close());
  return () => browser!;
}

/** Skips the test without a Chromium. With CI=true the test fails, so that nobody forgets to install one. */
async function launchChromium({ skip }: Pick<TestContext, "skip">): Promise<Browser> {
  const executablePath = inject("chromium");
  if (executablePath === undefined)
    throw new Error("expected this file in the list BROWSER of vitest.config.ts, found it in another project");
  if (executablePath !== null) return await chromium.launch({ executablePath, args: CHROMIUM_ARGUMENTS });
  if (process.env.CI === "true") throw new Error(HOW_TO_GET_CHROMIUM);
  return skip(HOW_TO_GET_CHROMIUM);
}

/** Opens a page for the running test, and closes it after the test. */
export async function openPage(browser: Browser): Promise<OpenPage> {
  const server = await startOrigin((_request, response) => {
    // The page names an icon, so that the browser requests none.
    response.setHeader("Content-Type", "text/html");
    response.end(`<!doctype html><link rel="icon" href="data:,"><title>A page</title>`);
  });
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  const complaints: string[] = [];
  page.on("console", (message) => void complaints.push(message.text()));
  page.on("pageerror", (error) => void complaints.push(String(error)));
  await page.goto(server.url);

  return {
    page,
    complaints,
    async read(url, asked = {}) {
      const { headers, ...rest } = await page.evaluate(readInPage, { url: url.href, asked });
      return { ...rest, headers: new Headers(headers) };
    },
  };
}

/** This function runs inside the page. */
async function readInPage({ url, asked }: { url: string; asked: Asked }) {
  const response = await fetch(url, asked);
  return { status: response.status, headers: [...response.headers], body: await response.text() };
}
