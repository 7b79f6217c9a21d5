// workerd has its own URLPattern, so the same property also runs there.

import "../kernel/request/urlpattern.test.ts";
