package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
	"anymesh.dev/anymesh/sandbox/internal/lab"
)

func imagesCommand(p *place) *cobra.Command {
	var files []string
	output := "text"
	c := &cobra.Command{
		Use:   "images",
		Short: "List the image map in order of precedence",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if len(files) == 0 {
				dir, err := p.folder()
				if err != nil {
					return err
				}
				s, err := lab.Read(dir)
				if err != nil {
					return errors.Join(err, errors.New("or use --images FILE"))
				}
				files = s.Lab.Images
			}
			m, err := imagemap.Load(files...)
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(os.Stdout, m.Entries())
			}
			t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "IMAGE\tPROGRAM OR ARCHIVE\tARGS\tFROM")
			for _, e := range m.Entries() {
				fmt.Fprintf(t, "%s\t%s\t%v\t%s\n", e.Name, cmp.Or(e.Program, e.OCIArchive), e.Args, e.Source)
			}
			return t.Flush()
		},
	}
	c.Flags().StringArrayVar(&files, "images", nil, "image map files to list, instead of those of the running sandbox")
	c.Flags().StringVar(&output, "output", "text", "text or json")
	return c
}
