/** The operators' page of a gateway, `/.headgate/console`. It talks to its own host's admin API, and to nobody else. */

import { render } from "preact";
import { App } from "./app.tsx";

const root = document.createElement("div");
root.id = "console";
document.body.append(root);
render(<App />, root);
