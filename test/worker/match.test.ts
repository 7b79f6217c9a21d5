// workerd has its own URL, so the same cases also run there.

import "../http/match.test.ts";
