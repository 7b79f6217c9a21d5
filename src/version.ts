/** The version of package.json, which a test compares: to import that file would bundle all of it. */
export const VERSION = "0.1.0";
