// The site as it is published: built once, served as files, and looked at in a browser.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { urlOf } from "../../site/.vitepress/urls.ts";
import { sharedBrowser } from "../clients/browser.ts";
import { newPage, violations } from "../console/page.ts";
import { blocksOf, ROOT, read } from "../docs/markdown.ts";
import { QUESTIONS } from "./questions.ts";
import { buildSite, fileOf, SOURCE_URL, serve } from "./serve.ts";

let folder: string;
let site: Awaited<ReturnType<typeof serve>>;
/** The HTML of every page, by its file. */
let pages: Map<string, string>;

beforeAll(async () => {
  folder = buildSite();
  site = await serve(folder);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".html"));
  pages = new Map(files.map((file) => [join(folder, file), readFileSync(join(folder, file), "utf8")]));
}, 120_000);
afterAll(() => site.close());

/** The page hears keys when its scripts have run. */
async function openSearch(page: Page): Promise<void> {
  const isOpen = async () => {
    await page.keyboard.press("Control+k");
    return page.getByRole("searchbox").isVisible();
  };
  await expect.poll(isOpen, { timeout: 20_000 }).toBe(true);
}

describe("the files", () => {
  it("keeps the links between pages, whatever the folder of their files", () => {
    for (const [page, link] of [
      ["README", "/recipes/"],
      ["recipes/index", "/recipes/logins"],
      ["recipes/logins", "/configuration#failures-or-successes"],
      ["configuration", "/library"],
      ["CHANGELOG", "/deploy#upgrade-to-a-new-version"],
    ]) {
      const [, article] = /<main[^>]*>([\s\S]*)<\/main>/.exec(pages.get(join(folder, `${page}.html`))!)!;
      expect(article, page).toContain(`href="${link}"`);
    }
  });

  it("has every link and every anchor of the site lead somewhere", () => {
    expect(pages.size).toBeGreaterThan(30);
    for (const [file, html] of pages) {
      for (const [, href] of html.matchAll(/<a[^>]* href="([^"]*)"/g)) {
        const { origin, pathname, hash } = new URL(href!, `http://site/${file.slice(folder.length + 1)}`);
        if (origin !== "http://site") continue;
        const target = fileOf(folder, pathname);
        expect(target, `${href} in ${file}`).toBeDefined();
        if (hash === "" || hash === "#VPContent" || !target!.endsWith(".html")) continue;
        expect(pages.get(target!), `${href} in ${file}`).toContain(` id="${decodeURIComponent(hash.slice(1))}"`);
      }
    }
  });

  it("has every picture", () => {
    for (const [file, html] of pages) {
      for (const [, src] of html.matchAll(/<(?:img|source)[^>]* src(?:set)?="([^"]*)"/g)) {
        if (!src!.startsWith("data:")) expect(fileOf(folder, src!), `${src} in ${file}`).toBeDefined();
      }
    }
  });

  it("tells language models where the pages are as Markdown", () => {
    const index = readFileSync(join(folder, "llms.txt"), "utf8");
    const listed = [...index.matchAll(/\]\((\/[^)]+\.md)\)/g)].map(([, path]) => path!);
    expect(listed.length).toBeGreaterThan(25);
    for (const path of listed) expect(fileOf(folder, path), path).toBeDefined();
  });
});

describe("in a browser", () => {
  const browser = sharedBrowser();

  const looks = [360, 1_440].flatMap((width) => (["light", "dark"] as const).map((theme) => [width, theme] as const));
  it.each(looks)("passes axe at %i px in the %s theme, and asks no other host", async (width, colorScheme) => {
    const { page, complaints, urls } = await newPage(browser(), { viewport: { width, height: 800 }, colorScheme });
    for (const path of ["/", "/README", "/algorithms", "/consistency", "/configuration", "/playground"]) {
      await page.goto(site.origin + path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await violations(page), path).toEqual([]);
      // A wide table or block scrolls by itself.
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, `${path} is wider than the window`).toBeLessThanOrEqual(0);
    }
    expect(complaints).toEqual([]);
    expect([...urls].filter((url) => !url.startsWith(site.origin) && !url.startsWith("data:"))).toEqual([]);
    await page.context().close();
  });

  it("begins with one sentence, how to install it, the blocks of three pages in tabs, the console and the source", async () => {
    const { page, complaints } = await newPage(browser());
    await page.goto(`${site.origin}/`);
    const [, sentence] = /^# headgate\n\n(.+)\n/.exec(read("README.md"))!;
    expect(await page.locator("main h1 + p").textContent()).toBe(sentence);
    expect(await page.locator("main pre").first().textContent()).toBe("npm install headgate");
    const first = (path: string, language: string) => blocksOf(path, language)[0]!.text;
    const tabs = {
      Hono: first("README.md", "ts"),
      Express: first("docs/recipes/express.md", "ts"),
      "Gateway: wrangler.toml": `${first("docs/deploy.md", "toml")}\n${first("README.md", "toml")}`,
    };
    for (const [name, text] of Object.entries(tabs)) {
      await page.getByText(name, { exact: true }).first().click();
      expect(await page.locator(".vp-code-group .active pre").textContent()).toBe(text.trimEnd());
      const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("//"));
      expect(lines.length, name).toBeLessThanOrEqual(10);
    }
    expect(await page.getByRole("link", { name: "Source" }).getAttribute("href")).toBe(SOURCE_URL);
    const picture = page.getByRole("img", { name: /^The console/ });
    expect(await picture.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(600);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("runs the playground by keyboard, and its link holds the setting", async () => {
    const { page, complaints } = await newPage(browser(), { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${site.origin}/playground`);
    const figure = (name: string) => page.locator(`output[data-figure="${name}"]`);
    await expect.poll(() => figure("most-in-a-window").textContent()).toBe("99");
    await page.getByLabel("Algorithm").focus();
    await page.keyboard.type("sliding-l");
    await expect.poll(() => figure("most-in-a-window").textContent()).toBe("50");
    expect(page.url()).toContain("#algorithm=sliding-log");
    await page.getByRole("button", { name: "1.4 s ahead" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("_1400");
    await expect.poll(() => figure("most-in-a-window").textContent()).toBe("50");
    const calls = await figure("calls").textContent();
    await page.reload();
    await expect.poll(() => figure("calls").textContent()).toBe(calls);
    const limit = page.getByLabel("Limit per window");
    for (const wrong of ["0", "ten", ""]) {
      await limit.fill(wrong);
      await page.keyboard.press("Tab");
      const mistake = page.locator(".field", { has: limit }).getByRole("alert");
      expect(await mistake.textContent(), wrong).toContain("Expected a whole number from 1 to 10,000");
      expect(await limit.inputValue()).toBe(wrong);
      expect(await figure("calls").textContent()).toBe(calls);
    }
    await page.getByRole("button", { name: "Exact log" }).click();
    expect(await limit.inputValue()).toBe("50");
    await page.locator(".language-toml .copy").click();
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toContain('limits = [{ algorithm = "sliding-log", limit = 50, window = "10s" }]');
    const top = async (selector: string) => (await page.locator(selector).boundingBox())!.y;
    for (const width of [390, 1_440]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await top(".playground canvas"), "the result is above the fields").toBeLessThan(
        await top(".playground form"),
      );
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("finds first the page that answers a question, by the words of those who ask", async () => {
    for (const folder of ["docs/recipes", "docs/migrate"]) {
      const files = readdirSync(join(ROOT, folder)).filter((name) => name !== "README.md");
      expect(Object.keys(QUESTIONS)).toEqual(expect.arrayContaining(files.map((name) => `${folder}/${name}`)));
    }
    const { page } = await newPage(browser());
    await page.goto(`${site.origin}/`);
    await openSearch(page);
    const found: Record<string, string> = {};
    const asked: Record<string, string> = {};
    for (const [file, questions] of Object.entries(QUESTIONS)) {
      if (!existsSync(join(ROOT, file))) continue;
      for (const question of questions) {
        await page.getByRole("searchbox").fill("");
        const first = page.locator(".result").first();
        await first.waitFor({ state: "detached" });
        await page.getByRole("searchbox").fill(question);
        asked[question] = urlOf(file);
        found[question] = (await first.getAttribute("href"))!.split("#")[0]!;
      }
    }
    expect(found).toEqual(asked);
    await page.context().close();
    // The search waits 200 ms after each change of the words, and there are two for each question.
  }, 120_000);
});
