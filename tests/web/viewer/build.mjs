// SPDX-License-Identifier: Apache-2.0
// One script out of main.tsx and the viewer's sources: node build.mjs SOURCES OUT, in a folder with
// the packages.  SOURCES is local-libs/traceviewer-libs of theia-trace-extension.
import path from "node:path";
import esbuild from "esbuild";

const [sources, outfile] = process.argv.slice(2);
const PLACES = {
  "traceviewer-base/lib/": path.join(sources, "base/src"),
  "traceviewer-react-components/": path.join(sources, "react-components/src"),
};

const found = {
  name: "viewer",
  setup(build) {
    build.onResolve({ filter: /^traceviewer-(base|react-components)\// }, (a) => {
      const prefix = Object.keys(PLACES).find((p) => a.path.startsWith(p));
      return build.resolve(path.join(PLACES[prefix], a.path.slice(prefix.length)), { resolveDir: "/", kind: a.kind });
    });
    // What its HTTP client wants of Node only.
    build.onResolve({ filter: /^(crypto|stream|util|http|https|zlib|url|punycode)$/ }, () => ({ path: "none", namespace: "none" }));
    build.onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "module.exports = {}" }));
  },
};

await esbuild.build({
  entryPoints: ["main.tsx"], bundle: true, outfile, jsx: "automatic", plugins: [found],
  define: { "process.env.NODE_ENV": '"production"', global: "window" }, nodePaths: [path.resolve("node_modules")],
  loader: { ".svg": "dataurl", ".ttf": "dataurl", ".woff": "dataurl", ".woff2": "dataurl", ".eot": "dataurl" },
  tsconfigRaw: { compilerOptions: { experimentalDecorators: true, jsx: "react-jsx" } },
});
