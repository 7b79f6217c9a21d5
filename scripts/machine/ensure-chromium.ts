// `pretest`: installs a Chromium for the browser tests where that needs no permission. Elsewhere it says that the
// browser tests will be skipped.

import { findChromium, HOW_TO_GET_CHROMIUM } from "./chromium.ts";
import { canInstallDebianPackages, installDebianPackage } from "./debian-package.ts";

/** Why there is no Chromium. undefined if there is one. */
function ensureChromium(): string | undefined {
  if (findChromium() !== undefined) return undefined;
  if (!canInstallDebianPackages()) return HOW_TO_GET_CHROMIUM;
  console.log("headgate: no Chromium on PATH: installing Debian's with apt-get for the browser tests");
  // Systems derived from Debian may have no package of the shell.
  const failure = installDebianPackage("chromium-headless-shell") && installDebianPackage("chromium");
  return failure ?? (findChromium() ? undefined : HOW_TO_GET_CHROMIUM);
}

const missing = ensureChromium();
if (missing !== undefined) {
  const consequence = process.env.CI === "true" ? "fail, since CI=true" : "be skipped";
  console.log(`headgate: ${missing}; the browser tests will ${consequence}`);
}
