// `pretest`: installs Debian's prometheus for the tests of metrics where that needs no permission. Elsewhere it says
// that these tests will be skipped.

import { canInstallDebianPackages, installDebianPackage } from "./debian-package.ts";
import { findPrometheus, HOW_TO_GET_PROMETHEUS } from "./prometheus.ts";

/** Why there is no Prometheus. undefined if there is one. */
function ensurePrometheus(): string | undefined {
  if (findPrometheus()) return undefined;
  if (!canInstallDebianPackages()) return HOW_TO_GET_PROMETHEUS;
  console.log("headgate: no Prometheus on PATH: installing Debian's prometheus with apt-get for the tests of metrics");
  const failure = installDebianPackage("prometheus");
  return failure ?? (findPrometheus() ? undefined : HOW_TO_GET_PROMETHEUS);
}

const missing = ensurePrometheus();
if (missing !== undefined) {
  const consequence = process.env.CI === "true" ? "fail, since CI=true" : "be skipped";
  console.log(`headgate: ${missing}; the tests with a real Prometheus will ${consequence}`);
}
