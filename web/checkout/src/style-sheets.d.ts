// A style sheet is imported for its effect; the build makes a file of it.
declare module '*.css';
