// workerd has its own URLPattern and URL: the same cases run here.

import "../http/match.test.ts";
