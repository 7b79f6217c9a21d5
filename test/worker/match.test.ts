// workerd has its own URL, so the same cases also run there.

import "../kernel/http/match.test.ts";
