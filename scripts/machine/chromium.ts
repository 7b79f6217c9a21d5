// Finds the browser of the browser tests: any Chromium on PATH.

import { findOnPath } from "./tied-process.ts";

/** What to tell a person without a Chromium. */
export const HOW_TO_GET_CHROMIUM =
  "no Chromium on PATH: install one with `apt-get install chromium` (Debian, as root) or put `google-chrome` on PATH";

/** The full path of a Chromium on PATH, if there is one. */
export function findChromium(): string | undefined {
  return findOnPath("chromium", "chromium-browser", "google-chrome");
}
