export { openPdf, type PdfPages } from './pages.ts';
