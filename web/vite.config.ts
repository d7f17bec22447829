// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vite";

// Three files with fixed names, which the program takes in (serve/api/page.c) and makes one document of.
export default defineConfig({
  base: "./",
  plugins: [{
    name: "one-document",
    transformIndexHtml: {
      order: "post",
      handler: (html) => html.replace(/\s*<(script|link rel="stylesheet") [^>]*>(<\/script>)?/g, ""),
    },
  }],
  build: {
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        entryFileNames: "app.js",
        assetFileNames: "app[extname]",
        inlineDynamicImports: true,
      },
    },
  },
});
