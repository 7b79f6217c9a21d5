/** VitePress's own theme, with colours that everybody can read and the width that code needs. */

import theme from "vitepress/theme";
import "./contrast.css";
import "./layout.css";

export default theme;
