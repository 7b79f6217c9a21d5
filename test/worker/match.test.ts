// workerd has a URLPattern and a URL of its own: the same cases, here.

import "../http/match.test.ts";
