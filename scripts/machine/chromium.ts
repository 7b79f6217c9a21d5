// Finds the browser of the browser tests and of the pictures: any Chromium on PATH.

import { findOnPath } from "./tied-process.ts";

/** What to tell a person without a Chromium. */
export const HOW_TO_GET_CHROMIUM =
  "no Chromium on PATH: install one with `apt-get install chromium-headless-shell` (Debian, as root), or put `chromium` " +
  "or `google-chrome` on PATH";

/** No sandbox, because containers run as root. The others keep Chromium from making requests of its own. */
export const CHROMIUM_ARGUMENTS = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/**
 * The full path of a Chromium on PATH, if there is one. The shell is Chromium without its windows: the tests of the
 * console take a third less CPU time with it.
 */
export function findChromium(): string | undefined {
  return findOnPath("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome");
}
