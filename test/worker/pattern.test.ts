// workerd has its own URLPattern, so the same property also runs there.

import "../pattern/urlpattern.test.ts";
