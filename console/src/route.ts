/** Which page is shown: `#/policies/api`. No raw key is ever part of an address. */

import { createValue } from "./data/value.ts";

export const PAGES = ["overview", "policies", "clients", "changes", "explain"] as const;
export type PageName = (typeof PAGES)[number];

export interface Route {
  readonly page: PageName;
  /** The rest of the address: a policy's name, a client's hash. */
  readonly rest: readonly string[];
}

function read(): Route {
  const [first, ...rest] = location.hash
    .replace(/^#\/?/, "")
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

addEventListener("hashchange", () => route.set(read()));

export function hrefOf(page: PageName, ...rest: readonly string[]): string {
  return `#/${[page, ...rest.map(encodeURIComponent)].join("/")}`;
}

export function goTo(page: PageName, ...rest: readonly string[]): void {
  location.hash = hrefOf(page, ...rest);
}
