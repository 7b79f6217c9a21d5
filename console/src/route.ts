/**
 * Which page is shown, and which time and region it tells of: `#/policies/api?range=360&region=eu`. Whoever opens the
 * address sees the same. No raw key is ever part of it.
 */

import { stats } from "./data/stats.ts";
import { createValue } from "./data/value.ts";
import { region, showView, viewText, zoom } from "./data/view.ts";

export const PAGES = ["overview", "policies", "clients", "changes", "explain"] as const;
export type PageName = (typeof PAGES)[number];

export interface Route {
  readonly page: PageName;
  /** The rest of the address: a policy's name, a client's hash. */
  readonly rest: readonly string[];
}

function read(): Route {
  const [first, ...rest] = location.hash
    .replace(/^#\/?|\?.*/g, "")
    .split("/")
    .map((part) => safely(part));
  const page = PAGES.find((name) => name === first) ?? "overview";
  return { page, rest: rest.filter((part) => part !== "") };
}

function safely(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

export const route = createValue<Route>(read());

function readView(): void {
  const [, query] = location.hash.split("?");
  // A link from page to page says nothing of the view: it stays.
  if (query !== undefined) showView(query);
}

function writeView(): void {
  const [[page], view] = [location.hash.split("?"), viewText()];
  const hash = view ? `${page || "#/overview"}?${view}` : page;
  if (hash !== location.hash) history.replaceState(null, "", hash || location.pathname);
}

readView();
for (const part of [stats, zoom, region]) part.subscribe(writeView);

addEventListener("hashchange", () => {
  readView();
  writeView();
  route.set(read());
});

export function hrefOf(page: PageName, ...rest: readonly string[]): string {
  return `#/${[page, ...rest.map(encodeURIComponent)].join("/")}`;
}

export function goTo(page: PageName, ...rest: readonly string[]): void {
  location.hash = hrefOf(page, ...rest);
}
