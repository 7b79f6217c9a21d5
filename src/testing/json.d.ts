// For the build alone, which leaves JSON where it is (tsconfig.build.json). Other compilers read the file itself.
declare module "*.json" {
  /** calendar.json has `cases`, the other files have `stories`. */
  const file: { readonly stories: readonly unknown[]; readonly cases: readonly unknown[] };
  export default file;
}
