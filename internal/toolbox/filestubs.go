package toolbox

import (
	"context"
	"errors"
)

func (t *Toolbox) ReadFile(ctx context.Context, in ReadFileInput) (ReadFileOutput, error) {
	return ReadFileOutput{}, errors.New("cannot read a file: not built yet")
}
func (t *Toolbox) WriteFile(ctx context.Context, in WriteFileInput) (WriteFileOutput, error) {
	return WriteFileOutput{}, errors.New("cannot write a file: not built yet")
}
func (t *Toolbox) Patch(ctx context.Context, in PatchInput) (PatchOutput, error) {
	return PatchOutput{}, errors.New("cannot patch files: not built yet")
}
func (t *Toolbox) SearchFiles(ctx context.Context, in SearchFilesInput) (SearchFilesOutput, error) {
	return SearchFilesOutput{}, errors.New("cannot search files: not built yet")
}
func (t *Toolbox) ListFiles(ctx context.Context, in ListFilesInput) (ListFilesOutput, error) {
	return ListFilesOutput{}, errors.New("cannot list files: not built yet")
}
