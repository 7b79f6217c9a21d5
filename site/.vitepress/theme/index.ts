/** VitePress's own theme, with colours that everybody can read. */

import theme from "vitepress/theme";
import "./contrast.css";

export default theme;
