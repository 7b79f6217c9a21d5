// For the build alone, which leaves JSON where it is (tsconfig.build.json). Other compilers read the file itself.
declare module "*.json" {
  const file: { readonly stories: readonly unknown[] };
  export default file;
}
