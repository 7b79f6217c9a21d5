// Where a reader finds recipes and decisions: in their tables, and beside every page of the site.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";
import { expect, it } from "vitest";
import { SIDEBAR } from "../../site/.vitepress/sidebar.ts";
import { urlOf } from "../../site/.vitepress/urls.ts";
import { RECIPES, ROOT, read } from "./markdown.ts";

const PAGES = RECIPES.filter((page) => page.startsWith("docs/recipes/"));
const linksOf = ({ link, items = [] }: DefaultTheme.SidebarItem): string[] => [
  ...(link === undefined ? [] : [link]),
  ...items.flatMap(linksOf),
];

it("the table names every recipe once, by its title", () => {
  // A row may also lead to another page, as that of blocked addresses does.
  const rows = [...read("docs/recipes/README.md").matchAll(/^\| .+\? \| \[(.+)\]\(([\w-]+\.md)\) \|$/gm)];
  const titles = PAGES.map((page) => [page, /^# (.+)$/m.exec(read(page))?.[1]]);
  expect(rows.map(([, title, file]) => [`docs/recipes/${file}`, title]).sort()).toEqual(titles.sort());
});

it("the sidebar names every recipe once", () => {
  const links = SIDEBAR.flatMap(linksOf).filter((link) => link.startsWith("/recipes/") && link !== "/recipes/");
  expect(links.sort()).toEqual(PAGES.map(urlOf).sort());
});

it("the table of decisions names every decision once, by its title", () => {
  const files = readdirSync(join(ROOT, "docs/decisions")).filter((name) => name !== "README.md");
  const rows = [...read("docs/decisions/README.md").matchAll(/^\| (\d+) \| \[(.+)\]\((.+)\) \|$/gm)];
  const titles = files.map((name) => [name, /^# (.+)$/m.exec(read(`docs/decisions/${name}`))?.[1]]);
  expect(rows.map(([, number, title, file]) => [file, `${number}. ${title}`])).toEqual(titles.sort());
});
