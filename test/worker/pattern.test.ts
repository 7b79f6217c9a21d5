// workerd has its own URLPattern: the same property runs here.

import "../pattern/urlpattern.test.ts";
