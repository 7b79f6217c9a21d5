// workerd has a URLPattern of its own: the same property, here.

import "../pattern/urlpattern.test.ts";
