// `pretest`: installs a Chromium for the browser tests where that needs no permission.

import { findChromium, HOW_TO_GET_CHROMIUM } from "./chromium.ts";
import { ensureForTests } from "./debian-package.ts";

// Systems derived from Debian may have no package of the shell.
const PACKAGES = ["chromium-headless-shell", "chromium"];
ensureForTests(findChromium, HOW_TO_GET_CHROMIUM, "the browser tests", ...PACKAGES);
