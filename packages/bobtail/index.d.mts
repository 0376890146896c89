// Types of the library for `import`.
export * from './dist/index.js';
