// The browser of the browser tests: any Chromium that is on PATH.

import { findOnPath } from "./tied-process.ts";

/** What to tell a person without Chromium. */
export const HOW_TO_GET_CHROMIUM =
  "no Chromium on PATH: install one with `apt-get install chromium` (Debian, as root) or put `google-chrome` on PATH";

/** The full path of a Chromium, if there is one on PATH. */
export function findChromium(): string | undefined {
  return findOnPath("chromium", "chromium-browser", "google-chrome");
}
