// What the tests of the console open: a gateway of their own, and a page of it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { type FakeGateway, type FakeOptions, startFakeGateway } from "./fake-gateway.ts";
import { newPage, type Opened } from "./page.ts";

/** A busy machine shows a page late. */
export const PATIENTLY = { timeout: 15_000 };

export async function gatewayOf(options?: FakeOptions): Promise<FakeGateway> {
  const gateway = await startFakeGateway(options);
  onTestFinished(() => gateway.stop());
  return gateway;
}

/** A page of its own, signed out. */
export async function open(
  browser: Browser,
  { url }: FakeGateway,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const opened = await newPage(browser, options);
  onTestFinished(() => opened.page.context().close());
  await opened.page.goto(`${url}/.headgate/console`);
  await opened.page.getByLabel("Admin token").waitFor();
  return opened;
}

/** A folder that gets pictures of the pages for a person to look at. Without it, no pictures are taken. */
const PICTURES = process.env.HEADGATE_PICTURES;

export async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}
