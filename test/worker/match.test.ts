// workerd has its own URLPattern and URL, so the same cases also run there.

import "../http/match.test.ts";
