// `pretest`: installs Debian's prometheus for the tests of metrics where that needs no permission.

import { ensureForTests } from "./debian-package.ts";
import { findPrometheus, HOW_TO_GET_PROMETHEUS } from "./prometheus.ts";

ensureForTests(findPrometheus, HOW_TO_GET_PROMETHEUS, "the tests with a real Prometheus", "prometheus");
