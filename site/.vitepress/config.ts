/** The site: the pages of the repository as static files. `npm run docs:site` builds it into site/dist. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import llmstxt from "vitepress-plugin-llms";
import { withBlocksOfPages } from "./blocks.ts";
import { withSiteLinks } from "./links.ts";
import { RANKING } from "./search.ts";
import { NAV, SIDEBAR } from "./sidebar.ts";
import { withoutEmptyHeaders } from "./tables.ts";
import { routeOf, slugOf } from "./urls.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The folders and files whose Markdown is the site. */
const PAGES = /^[A-Z]+\.md$|^(?:docs|examples)\/.*\.md$|^test\/README\.md$|^site\/(?:index|playground)\.md$/;
const isPage = (path: string) => PAGES.test(path) && existsSync(`${ROOT}${path}`);

/** Where the site is published, for example `/headgate/`. */
const { SITE_BASE = "/", SOURCE_URL } = process.env;

/** A gate. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" stroke="#3451b2"
stroke-width="2" d="M2 14V3m12 11V3M2 6h12M2 10h12"/></svg>`;

export default defineConfig({
  title: "headgate",
  description:
    "A rate limiter for Cloudflare Workers and Node: one count per client across all locations, accurate waits.",
  lang: "en",
  base: SITE_BASE,
  cleanUrls: true,
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  srcDir: "..",
  srcExclude: ["**/node_modules/**", "{bench,console,lua,scripts,src}/**", "test/*/**", "issues/**"],
  outDir: "dist",
  ignoreDeadLinks: [/^https?:\/\/localhost/],
  rewrites: (path) => routeOf(path),
  /** A page without sections has no outline: its code gets that width. */
  transformPageData({ headers, frontmatter }) {
    if (headers.length === 0) frontmatter.aside = false;
  },
  // Plain pages, no service of others: the search is a file of the site.
  themeConfig: {
    nav: NAV,
    sidebar: SIDEBAR,
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch: { searchOptions: RANKING } } },
    ...(SOURCE_URL && { socialLinks: [{ icon: "github", link: SOURCE_URL }] }),
  },
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: slugOf },
    headers: { level: [2, 3] },
    config(md) {
      withBlocksOfPages(md, ROOT);
      withSiteLinks(md, ROOT, isPage, SOURCE_URL);
      withoutEmptyHeaders(md);
    },
  },
  // Two versions of Vite have types that differ: VitePress's own builds the site.
  vite: { plugins: [llmstxt({ workDir: ROOT, ignoreFiles: ["site/index.md"] }) as never] },
});
