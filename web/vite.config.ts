// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vite";

// Three files with fixed names, which the program takes in (serve/page.c).
export default defineConfig({
  base: "./",
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
